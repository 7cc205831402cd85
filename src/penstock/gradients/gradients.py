"""`gradients`: extends the graph by the nodes that compute derivatives (white paper section 4.1, figure 5).

From the ys back to the xs, each operation on a path between them gets the gradient function registered for its
type, whose inputs are the partial derivatives of its outputs. What several paths contribute is added up.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.gradients.aggregate import AggregationMethod, aggregate
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import convert_to_tensor
from penstock.graph.graph import Graph
from penstock.graph.opdef import get_gradient, get_op, register_gradient
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.basic import gate_tuple
from penstock.tensor.dtypes import DType, resource

Gradient = Tensor | IndexedSlices

__all__ = ["AggregationMethod", "NotDifferentiable", "RegisterGradient", "gradients"]


class RegisterGradient:
    """Decorator that registers the gradient function of an op type (TF: tf.RegisterGradient).

    `@tf.RegisterGradient("MyOp") def _(op, grad): ...` gives one gradient (or None) for each input of `op`.
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        register_gradient(self._op_type, fn)
        return fn


def NotDifferentiable(op_type: str) -> None:
    """Say that ops of this type pass no gradient on (TF: tf.NotDifferentiable)."""
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    register_gradient(op_type, None)


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: str = "none",
) -> list[Any]:
    """The sum over `ys` of dy/dx for each x of `xs`: tensors, `IndexedSlices` for gathers, None where unconnected.

    ys, xs: a tensor (xs: or a variable), or a list. grad_ys: the derivatives to begin with, one a y, None for
    ones. stop_gradients: tensors to be taken as constants. gate_gradients: the gradients of one operation become
    available together. aggregation_method: how contributions are added (`AggregationMethod`).
    unconnected_gradients: "none" or "zero". Each x gets the shape of its gradient from itself.

    Raises LookupError for an operation on the way without a gradient function, ValueError where a gradient
    function gives something of another number or shape, TypeError for ys that are not real floats and have no
    grad_ys. Source: white paper section 4.1; TF: tf.gradients.
    """
    ys, xs, stops = _listed(ys), _listed(xs), _listed(stop_gradients)
    grad_ys = [None] * len(ys) if grad_ys is None else _listed(grad_ys)
    if len(grad_ys) != len(ys):
        raise ValueError(f"Passed {len(grad_ys)} grad_ys for {len(ys)} ys")
    with name_scope(name, "gradients", [*ys, *xs, *stops, *grad_ys]):
        y_tensors = [_tensor(y) for y in ys]
        x_tensors = [_differentiated(x) for x in xs]
        walk = _BackwardWalk(y_tensors, x_tensors, [_differentiated(s) for s in stops])
        walk.options(colocate_gradients_with_ops, gate_gradients, aggregation_method)
        for y, grad in zip(y_tensors, grad_ys, strict=True):
            walk.add(y, _initial(y, grad))
        walk.run()
        found = [walk.result(x) for x in x_tensors]
        if str(getattr(unconnected_gradients, "value", unconnected_gradients)) == "zero":
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


def _trainable(dtype: DType) -> bool:
    base = dtype.base_dtype
    return base.is_floating or base.is_complex or base == resource


def _initial(y: Tensor, grad: Any) -> Gradient:
    """The derivative of the whole with respect to `y`: ones, or what the caller gave, checked."""
    dtype = y.dtype.base_dtype
    if grad is None:
        if dtype.is_complex:
            raise TypeError(f"Gradients of complex tensors must set grad_ys (y.dtype = {dtype.name})")
        if not dtype.is_floating:
            raise TypeError(f"{y.name} is {dtype.name}: only floating-point tensors have gradients")
        return _ones(y)
    if isinstance(grad, IndexedSlices):
        return grad
    tensor = convert_to_tensor(grad, dtype)
    if not tensor.shape.is_compatible_with(y.shape):
        raise ValueError(f"grad_ys for {y.name} has shape {tensor.shape}, not {y.shape}")
    return tensor


def _ones(y: Tensor) -> Tensor:
    one = convert_to_tensor(1, y.dtype.base_dtype, name="grad_ys")
    if y.shape.ndims == 0:
        return one
    shape = convert_to_tensor(y.shape) if y.shape.is_fully_defined() else get_op("Shape")(y)
    return get_op("Fill")(shape, one)


class _BackwardWalk:
    """The walk from ys to xs: contributions to each tensor's gradient, and which operations wait for which."""

    def __init__(self, ys: list[Tensor], xs: list[Tensor], stops: list[Tensor]) -> None:
        self._graph: Graph = ys[0].graph if ys else (xs[0].graph if xs else None)  # type: ignore[assignment]
        self._ys, self._xs = ys, xs
        self._stops = set(stops)
        self._parts: dict[Tensor, list[Gradient]] = {}
        self._sums: dict[Tensor, Gradient | None] = {}
        self._between = self._ops_between()
        self._waiting = self._consumer_counts()

    def options(self, colocate: bool, gate: bool, method: int | None) -> None:
        self._colocate, self._gate, self._method = colocate, gate, method

    # --- which operations take part ---------------------------------------------------------------------

    def _ops_between(self) -> set[Operation]:
        """The operations on a path of differentiable edges from an x to a y."""
        reached: set[Operation] = set()
        pending: deque[Tensor] = deque(self._xs)
        while pending:
            for op in pending.popleft()._consumers:
                if op not in reached:
                    reached.add(op)
                    pending += [t for t in op._outputs if _trainable(t.dtype) and t not in self._stops]
        between: set[Operation] = set()
        ops = deque(t.op for t in self._ys if t not in self._stops)
        while ops:
            op = ops.popleft()
            if op in reached and op not in between:
                between.add(op)
                ops += [t.op for t in op._inputs if t not in self._stops]
        return between

    def _consumer_counts(self) -> dict[Operation, int]:
        """For each operation, how many edges from operations in between its gradient waits for."""
        counts: dict[Operation, int] = {}
        for op in self._between:
            for tensor in op._inputs:
                counts[tensor.op] = counts.get(tensor.op, 0) + 1
        return counts

    # --- the walk ---------------------------------------------------------------------------------------

    def add(self, tensor: Tensor, grad: Gradient | None) -> None:
        if grad is not None:
            self._parts.setdefault(tensor, []).append(grad)

    def run(self) -> None:
        ready = deque(dict.fromkeys(y.op for y in self._ys if not self._waiting.get(y.op)))
        done: set[Operation] = set()
        while ready:
            op = ready.popleft()
            if op in done:
                continue
            done.add(op)
            if op in self._between:
                self._through(op)
                for tensor in op._inputs:
                    self._waiting[tensor.op] -= 1
                    if not self._waiting[tensor.op]:
                        ready.append(tensor.op)

    def _through(self, op: Operation) -> None:
        """Add the gradients of the inputs of `op`, from those of its outputs."""
        out_grads: list[Any] = [self._sum(t) if t not in self._stops else None for t in op._outputs]
        if all(grad is None for grad in out_grads):
            return
        fn = _gradient_function(op)
        if fn is None:
            return
        with contextlib.ExitStack() as stack:
            stack.enter_context(name_scope(f"{op.name}_grad"))
            stack.enter_context(self._graph._gradient_of(op))
            if self._colocate:
                stack.enter_context(self._graph.colocate_with(op))
            # A y may depend on one output only: the derivative by the others is zero (paper 4.1).
            for i, tensor in enumerate(op._outputs):
                if out_grads[i] is None and _trainable(tensor.dtype) and tensor.dtype.base_dtype != resource:
                    out_grads[i] = get_op("ZerosLike")(tensor)
            in_grads = _checked(op, fn(op, *out_grads))
            if self._gate and sum(g is not None for g in in_grads) > 1:
                in_grads = gate_tuple(in_grads)
        for tensor, grad in zip(op._inputs, in_grads, strict=True):
            self.add(tensor, grad)

    def _sum(self, tensor: Tensor) -> Gradient | None:
        if tensor not in self._sums:
            parts = self._parts.get(tensor, [])
            self._sums[tensor] = aggregate(parts, self._method) if parts else None
        return self._sums[tensor]

    def result(self, x: Tensor) -> Gradient | None:
        """The gradient for x, once the walk is done."""
        return self._sum(x)


def _gradient_function(op: Operation) -> Callable[..., Any] | None:
    name = op.attrs.get("_gradient_op_type", op.type.encode()).decode()
    try:
        return get_gradient(name)
    except LookupError:
        line = f"\n  built at {op.user_line}" if op.user_line else ""
        raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {name}){line}") from None


def _checked(op: Operation, found: Any) -> list[Gradient | None]:
    """What a gradient function gave: one gradient an input, each of the input's shape."""
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
