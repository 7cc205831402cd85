"""`gradients`: extends the graph by the nodes that compute derivatives (white paper section 4.1, figure 5).

From the ys back to the xs, it calls the gradient function registered for each operation on a path between them with the
partial derivatives of the operation's outputs. Contributions of several paths are added.
"""

from __future__ import annotations

import contextlib
import enum
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from penstock.export import export
from penstock.gradients.aggregate import aggregate, are_rows, rows_of_branch
from penstock.gradients.found_contexts import find_contexts
from penstock.gradients.grad_contexts import GradientLoop
from penstock.gradients.loop_gradient import loop_gradient, trainable, zeros_of
from penstock.gradients.written_out import write_functions_out
from penstock.graph.composite import IndexedSlices
from penstock.graph.contexts import ControlFlowContext, outside
from penstock.graph.convert import convert_to_tensor
from penstock.graph.graph import Graph
from penstock.graph.opdef import get_gradient, get_op, register_gradient
from penstock.graph.operation import Operation, Tensor
from penstock.graph.primitives import ENTERS, EXITS, MERGES, NEXT_ITERATIONS, SWITCHES
from penstock.graph.scopes import get_default_graph, name_scope
from penstock.ops.basic import gate_tuple
from penstock.ops.broadcasting import broadcast_static_shape
from penstock.ops.control_flow.cond import CondContext
from penstock.ops.control_flow.while_loop import WhileContext
from penstock.tensor.dtypes import resource
from penstock.tensor.shapes import TensorShape

Gradient = Tensor | IndexedSlices


@export("UnconnectedGradients")
class UnconnectedGradients(enum.Enum):
    """What `gradients` gives for an x that no y depends on (TF: tf.UnconnectedGradients)."""

    NONE = "none"
    ZERO = "zero"


@export("RegisterGradient")
class RegisterGradient:
    """Decorator that registers the gradient function of an op type (TF: tf.RegisterGradient).

    `@tf.RegisterGradient("MyOp") def _(op, grad): ...` returns one gradient (or None) for each input of `op`.
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        register_gradient(self._op_type, f)
        return f


@export("NoGradient", "NotDifferentiable", "no_gradient")
def NotDifferentiable(op_type: str) -> None:
    """Declare that no gradient flows through ops of this type (TF: tf.NotDifferentiable)."""
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    register_gradient(op_type, None)


@export("gradients")
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
) -> list[Any]:
    """The sum over `ys` of dy/dx for each x of `xs`: tensors, `IndexedSlices` for gathers, None if unconnected.

    ys, xs: a tensor (xs: or a variable), or a list. grad_ys: the derivatives to begin with, one for each y, None for
    ones. stop_gradients: tensors to treat as constants. gate_gradients: the gradients of one operation become available
    together. aggregation_method: how contributions are added (`AggregationMethod`).
    unconnected_gradients: `UnconnectedGradients`, or "none" or "zero". Each gradient has the shape of its x.

    Raises LookupError for an operation on a path without a gradient function, ValueError if a gradient function
    returns a wrong number or shape of gradients or unconnected_gradients is neither, TypeError for complex or
    non-numeric ys without grad_ys. There is no gradient (None) of or to integers, but of one to
    itself. Source: white paper section 4.1; TF: tf.gradients.
    """
    ys, xs, stops = _listed(ys), _listed(xs), _listed(stop_gradients)
    grad_ys = [None] * len(ys) if grad_ys is None else _listed(grad_ys)
    if len(grad_ys) != len(ys):
        raise ValueError(f"Passed {len(grad_ys)} grad_ys for {len(ys)} ys")
    with name_scope(name, "gradients", [*ys, *xs, *stops, *grad_ys]), get_default_graph()._gradients_call():
        y_tensors = [_tensor(y) for y in ys]
        x_tensors = [_differentiated(x) for x in xs]
        for graph in {tensor.graph for tensor in y_tensors}:
            find_contexts(graph)
            write_functions_out(y_tensors, x_tensors)
        options = _Options(colocate_gradients_with_ops, gate_gradients, aggregation_method)
        walk = _BackwardWalk(y_tensors, x_tensors, [_differentiated(s) for s in stops], options)
        found = walk.run(
            [_initial(i, y, grad, y in x_tensors) for i, (y, grad) in enumerate(zip(y_tensors, grad_ys, strict=True))]
        )
        if UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO:
            zeros = get_op("ZerosLike")
            found = [zeros(x) if g is None else g for g, x in zip(found, xs, strict=True)]
        return found


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _tensor(value: Any) -> Tensor:
    return value.values if isinstance(value, IndexedSlices) else convert_to_tensor(value)


def _differentiated(x: Any) -> Tensor:
    """The tensor that stands for x: a variable's reference or handle, so that all its reads count."""
    handle = getattr(x, "handle", None)
    if isinstance(handle, Tensor):
        return handle
    return x._ref() if hasattr(x, "_ref") else convert_to_tensor(x)


def _initial(i: int, y: Tensor, grad: Any, wanted: bool) -> Gradient | None:
    """The derivative with respect to the `i`-th y: ones, or the caller's value, in y's shape.

    None for ints, unless y is itself an x.
    """
    dtype = y.dtype.base_dtype
    if dtype.is_bool or (dtype.is_integer and not wanted):
        return None
    if grad is None:
        if dtype.is_complex:
            raise TypeError(f"Gradients of complex tensors must set grad_ys (y.dtype = {dtype.name})")
        if not (dtype.is_floating or dtype.is_integer):
            raise TypeError(f"{y.name} is {dtype.name}: only floating-point tensors have gradients")
        return _ones(y, f"grad_ys_{i}")
    if isinstance(grad, IndexedSlices):
        return grad
    tensor = convert_to_tensor(grad, dtype)
    if tensor.shape.is_compatible_with(y.shape):
        return tensor
    if _same_numbers(tensor.shape, y.shape):
        return get_op("Reshape")(tensor, _dims(y))
    try:
        fits = broadcast_static_shape(tensor.shape, y.shape).is_compatible_with(y.shape)
    except ValueError:
        fits = False
    # What is larger than y is left as it is, as in TensorFlow: the gradients of some ops take it, such as L2Loss's,
    # with which programs weigh policies: minimize(tf.nn.l2_loss(taken - policy), grad_loss=rewards).
    return get_op("BroadcastTo")(tensor, _dims(y)) if fits else tensor


def _same_numbers(a: TensorShape, b: TensorShape) -> bool:
    """Whether as many numbers are in both, as far as is known, so that gradients of many ops take one for the other.

    A program that gives `[gradient]` where it means `gradient` has one of a shape like (1, ?, 2) for (?, 2).
    """
    if a.num_elements() is not None and a.num_elements() == b.num_elements():
        return True
    one, other = ([n for n in shape.as_list() if n != 1] for shape in (a, b))
    return one == other


def _dims(y: Tensor) -> Tensor:
    return convert_to_tensor(y.shape) if y.shape.is_fully_defined() else get_op("Shape")(y)


def _ones(y: Tensor, name: str) -> Tensor:
    one = convert_to_tensor(1, y.dtype.base_dtype, name=name)
    if y.shape.ndims == 0:
        return one
    return get_op("Fill")(_dims(y), one)


@dataclass(frozen=True, slots=True)
class _Options:
    colocate: bool
    gate: bool
    method: int | None


Unit = Operation | WhileContext
"""One unit of the walk: an operation, or a whole loop."""


_PASS_ROWS = ENTERS | SWITCHES | {"Identity", "RefIdentity", "ReadVariableOp"}
"""Ops whose gradient returns rows if it gets rows."""


class _BackwardWalk:
    """The walk from ys to xs: contributions to each tensor's gradient, and which units wait for which.

    `inside` is the context whose nodes are walked: none, or the body of a loop for that loop's gradient. Loops in it
    are units whose outputs are their exits. `home` maps the context of a node to the one in which its gradient is
    built. `rows` are the xs whose gradients may be rows (by default all).
    """

    def __init__(
        self,
        ys: list[Tensor],
        xs: list[Tensor],
        stops: list[Tensor],
        options: _Options,
        inside: WhileContext | None = None,
        home: Callable[[ControlFlowContext | None], ControlFlowContext | None] | None = None,
        rows: set[Tensor] | None = None,
    ) -> None:
        self._ys, self._xs = ys, xs
        self._rows = set(xs) if rows is None else rows
        self._graph: Graph = (ys or xs)[0].graph
        self._stops = set(stops)
        self._options = options
        self._inside = inside
        self._home = home or self._same_context
        self._here = self._graph._scopes.context
        self._parts: dict[Tensor, list[Gradient]] = {}
        self._sums: dict[Tensor, Gradient | None] = {}
        self._reached: set[Tensor] = set()
        self._stacked: dict[Unit, dict[Tensor, list[Tensor]]] = {}
        self._between = self._units_between()
        self._waiting = self._consumer_counts()

    def _same_context(self, context: ControlFlowContext | None) -> ControlFlowContext | None:
        """Gradients of a branch are built in it; those of surrounding contexts are built in the current one."""
        return self._here if context is None or context.encloses(self._here) else context

    # --- units ------------------------------------------------------------------------------------------

    def _unit(self, op: Operation) -> Unit:
        """The outermost loop, inside the one being walked, that `op` belongs to; or `op`."""
        context = op._control_flow_context
        if op.type in EXITS and op._inputs:
            context = op._inputs[0].op._control_flow_context
        unit: Unit = op
        while context is not None and context is not self._inside:
            if isinstance(context, WhileContext) and not context.encloses(self._place()):
                unit = context
            context = context.outer
        return unit

    def _place(self) -> ControlFlowContext | None:
        """The current context of the walk: loops around it are not units."""
        return self._inside if self._inside is not None else self._here

    def _inputs(self, unit: Unit) -> list[Tensor]:
        if isinstance(unit, Operation):
            return unit._inputs
        tensors = [e.op._inputs[0] for e in unit.enters] + list(unit.invariants.values())
        return tensors + list(unit.pops) if isinstance(unit, GradientLoop) else tensors

    def _outputs(self, unit: Unit) -> list[Tensor]:
        return unit._outputs if isinstance(unit, Operation) else unit.exits

    def _readers(self, unit: Unit) -> list[WhileContext]:
        """The gradient loops that use values from a loop's iterations."""
        return unit.readers if isinstance(unit, WhileContext) else []

    # --- which units take part ---------------------------------------------------------------------------

    def _units_between(self) -> set[Unit]:
        """The units on a path of differentiable edges from an x to a y."""
        seen: set[Unit] = set()
        pending: deque[Tensor] = deque(x for x in self._xs if trainable(x))
        while pending:
            tensor = pending.popleft()
            self._reached.add(tensor)
            for op in tensor._consumers:
                unit = self._unit(op)
                for each in [unit, *self._readers(unit)]:
                    if each not in seen:
                        seen.add(each)
                        pending += [t for t in self._outputs(each) if trainable(t) and t not in self._stops]
        between: set[Unit] = set()
        units = deque(self._unit(t.op) for t in self._ys if t not in self._stops)
        while units:
            unit = units.popleft()
            if unit in seen and unit not in between:
                between.add(unit)
                units += [self._unit(t.op) for t in self._inputs(unit) if t not in self._stops]
        return between

    def _consumer_counts(self) -> dict[Unit, int]:
        """For each unit, how many edges to other units its gradient waits for."""
        counts: dict[Unit, int] = {}
        for unit in self._between:
            for tensor in self._inputs(unit):
                maker = self._unit(tensor.op)
                counts[maker] = counts.get(maker, 0) + 1
        return counts

    # --- the walk ---------------------------------------------------------------------------------------

    def run(self, initial: list[Gradient | None]) -> list[Gradient | None]:
        """The gradients of the xs, from those of the ys."""
        for y, grad in zip(self._ys, initial, strict=True):
            self._add(y, grad)
        ready = deque(dict.fromkeys(u for u in map(self._unit, (y.op for y in self._ys)) if not self._waiting.get(u)))
        done: set[Unit] = set()
        while ready:
            unit = ready.popleft()
            if unit in done:
                continue
            done.add(unit)
            if unit in self._between:
                inputs = list(self._inputs(unit))  # the gradient of a loop adds more of them to that loop
                self._through(unit)
                for tensor in inputs:
                    maker = self._unit(tensor.op)
                    self._waiting[maker] -= 1
                    if not self._waiting[maker]:
                        ready.append(maker)
        for unit in self._between - done:
            if isinstance(unit, Operation) and unit.type in NEXT_ITERATIONS:  # a loop that is no unit
                self._through_op(unit, [None] * len(unit._outputs))
        return [self._sum(x) for x in self._xs]

    def _add(self, tensor: Tensor, grad: Gradient | None) -> None:
        if grad is not None:
            self._parts.setdefault(tensor, []).append(grad)

    def _sum(self, tensor: Tensor) -> Gradient | None:
        if tensor not in self._sums:
            parts = self._parts.get(tensor, [])
            with contextlib.ExitStack() as stack:
                stack.enter_context(self._building(self._home(tensor.op._control_flow_context)))
                if self._options.colocate and len(parts) > 1:
                    stack.enter_context(self._graph.colocate_with(_place_of_sum(tensor, parts), ignore_existing=True))
                self._sums[tensor] = aggregate(parts, self._options.method) if parts else None
        return self._sums[tensor]

    def _building(self, context: ControlFlowContext | None) -> AbstractContextManager[None]:
        return contextlib.nullcontext() if context is self._graph._scopes.context else outside(context)

    def _through(self, unit: Unit) -> None:
        """Add the gradients of the inputs of `unit`, from those of its outputs."""
        outputs = self._outputs(unit)
        out_grads: list[Any] = [self._sum(t) if t not in self._stops else None for t in outputs]
        if all(grad is None for grad in out_grads) and unit not in self._stacked:
            return
        if not isinstance(unit, WhileContext):
            self._through_op(unit, out_grads)
        elif unit.back_prop:
            self._through_loop(unit, out_grads)

    def _through_loop(self, loop: WhileContext, exit_grads: list[Any]) -> None:
        def body_gradient(ys: list[Tensor], xs: list[Tensor], grads: list[Any]) -> list[Gradient | None]:
            backward = self._graph._scopes.context
            assert isinstance(backward, GradientLoop)
            rows = {inside for inside, outside in loop.invariants.items() if self._keeps_rows(outside)}
            walk = _BackwardWalk(ys, xs, xs, self._options, loop, lambda c: backward.home(c, loop), rows)
            return walk.run(grads)

        with self._building(self._home(loop.outer)):
            stacked = self._stacked.get(loop, {})
            found, stacks = loop_gradient(loop, exit_grads, stacked, self._matters, self._keeps_rows, body_gradient)
        for inside, grad in found.items():
            self._add(inside.op._inputs[0], grad)
        for tensor, handle in stacks.items():
            self._stacked.setdefault(self._unit(tensor.op), {}).setdefault(tensor, []).append(handle)

    def _keeps_rows(self, tensor: Tensor) -> bool:
        """Whether rows of the gradient of `tensor` arrive as such at an x; otherwise a sum is as good, and faster."""
        while tensor not in self._rows and tensor.op.type in _PASS_ROWS:
            tensor = tensor.op._inputs[0]
        return tensor in self._rows

    def _matters(self, tensor: Tensor) -> bool:
        """Whether an input of a loop depends on an x; for a tensor of another loop's body, whether that loop does."""
        return tensor in self._reached or (
            trainable(tensor) and isinstance(self._unit(tensor.op), WhileContext) and tensor.op.type not in EXITS
        )

    def _through_op(self, op: Operation, out_grads: list[Any]) -> None:
        fn = _gradient_function(op)
        if fn is None:
            return
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._building(self._home(op._control_flow_context)))
            stack.enter_context(name_scope(f"{op.name}_grad"))
            stack.enter_context(self._graph._gradient_of(op))
            if self._options.colocate:
                stack.enter_context(self._graph.colocate_with(op))
            around = op._control_flow_context is not None and op._control_flow_context.encloses(self._here)
            if op.type in SWITCHES:
                in_grads: list[Any] = [self._switch_gradient(op, out_grads, around), None]
            elif op.type in ENTERS and around:
                in_grads = out_grads  # within one iteration: the loop's inputs are the outer tensors
            elif op.type in MERGES:
                in_grads = [self._merge_gradient(op, tensor, out_grads[0]) for tensor in op._inputs]
            else:
                # A y may depend on only one output: the derivatives with respect to the others are zero (paper 4.1).
                for i, tensor in enumerate(op._outputs):
                    if out_grads[i] is None and trainable(tensor) and tensor.dtype.base_dtype != resource:
                        out_grads[i] = get_op("ZerosLike")(tensor)
                in_grads = _checked(op, fn(op, *out_grads))
            if self._options.gate and sum(g is not None for g in in_grads) > 1:
                in_grads = gate_tuple(in_grads)
        for tensor, grad in zip(op._inputs, in_grads, strict=True):
            self._add(tensor, grad)

    def _merge_gradient(self, op: Operation, tensor: Tensor, grad: Any) -> Any:
        """What a Merge passes back to one of its inputs, if that one arrived."""
        if tensor.op._control_flow_context is not op._control_flow_context:
            branch = self._home(tensor.op._control_flow_context)
            assert branch is not None
            return branch.capture(convert_to_tensor(grad))
        if tensor.op.type not in SWITCHES:
            raise LookupError(f"{op.name} (Merge) is not the end of a conditional")
        outer = self._home(op._control_flow_context)
        pred = tensor.op._inputs[1] if outer is None else outer.capture(tensor.op._inputs[1])
        return get_op("Switch")(convert_to_tensor(grad), pred)[tensor.value_index]

    def _switch_gradient(self, op: Operation, out_grads: list[Any], around: bool) -> Any:
        """The gradient from the branch that was taken, and zeros from the other.

        With `around`, the gradient is taken inside that branch, or inside an iteration of the loop.
        """
        context = op._control_flow_context
        if around:
            return out_grads[context.branch] if isinstance(context, CondContext) else None
        outer = self._home(context.outer if isinstance(context, CondContext) else context)
        with self._building(outer):
            value, pred = op._inputs
            pred = pred if outer is None else outer.capture(pred)
            if isinstance(context, CondContext) and are_rows(out_grads) and self._keeps_rows(value):
                return rows_of_branch(value, pred, out_grads)
            zeros = get_op("Switch")(zeros_of(value), pred)
            grads = [z if g is None else convert_to_tensor(g) for g, z in zip(out_grads, zeros, strict=True)]
            if not isinstance(context, CondContext):  # nothing else makes these dead if the branch was not taken
                grads = [get_op("Switch")(g, pred)[i] for i, g in enumerate(grads)]
            return get_op("Merge")(grads)[0]


def _place_of_sum(tensor: Tensor, parts: list[Gradient]) -> Operation:
    """Where several contributions to the gradient of `tensor` are added: on their device if they share one."""
    if all(isinstance(part, Tensor) for part in parts) and len({part.op.device for part in parts}) == 1:
        return parts[0].op
    return tensor.op


def _gradient_function(op: Operation) -> Callable[..., Any] | None:
    name = op.attrs.get("_gradient_op_type", op.type.encode()).decode()
    try:
        return get_gradient(name)
    except LookupError:
        line = f"\n  built at {op.user_line}" if op.user_line else ""
        raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {name}){line}") from None


def _checked(op: Operation, found: Any) -> list[Gradient | None]:
    """Checks a gradient function's result: one gradient per input, each with the input's shape."""
    grads: list[Any] = [found] if not isinstance(found, list | tuple) else list(found)
    if len(grads) != len(op._inputs):
        raise ValueError(
            f"Num gradients {len(grads)} generated for op {op.name} ({op.type}) do not match "
            f"num inputs {len(op._inputs)}"
        )
    for i, (tensor, grad) in enumerate(zip(op._inputs, grads, strict=True)):
        if isinstance(grad, Tensor) and tensor.dtype != resource:
            try:
                grad.set_shape(tensor.shape)
            except ValueError:
                raise ValueError(
                    f"Incompatible shapes between op input {tensor.name} {tensor.shape} and calculated input gradient "
                    f"{grad.shape} of {op.name} ({op.type}), input {i}"
                ) from None
        elif grad is not None and not isinstance(grad, IndexedSlices | Tensor):
            raise TypeError(f"The gradient function of {op.type} gave {grad!r} for input {i}, not a tensor")
    return grads
