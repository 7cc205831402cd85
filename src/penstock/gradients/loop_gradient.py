"""The gradient of a loop, as a unit whose outputs are its exits: a loop that runs backwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.gradients.aggregate import are_rows, shape_outside
from penstock.gradients.grad_contexts import GradientLoop, forward_loop
from penstock.graph.composite import IndexedSlices
from penstock.graph.contexts import ControlFlowContext, outside
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.ops.basic import identity
from penstock.ops.control_flow.tensor_array import TensorArray
from penstock.ops.control_flow.while_loop import WhileContext
from penstock.ops.stacks import STACK_PUSH_V2, STACK_V2
from penstock.ops.tensor_array import TENSOR_ARRAY_CONCAT_V3
from penstock.tensor.dtypes import resource, variant
from penstock.tensor.shapes import TensorShape

Stacked = dict[Tensor, list[Tensor]]
"""For tensors of a loop's body, stacks with a gradient for each iteration, the last iteration's at the bottom."""

BodyGradient = Callable[[list[Tensor], list[Tensor], list[Any]], list[Any]]
"""`(ys, xs, grad_ys)` within the body -> gradients of the xs, or None."""


def trainable(tensor: Tensor) -> bool:
    base = tensor.dtype.base_dtype
    return base.is_floating or base.is_complex or base in (resource, variant)


def loop_gradient(
    loop: WhileContext,
    exit_grads: list[Any],
    stacked: Stacked,
    reached: Callable[[Tensor], bool],
    keeps_rows: Callable[[Tensor], bool],
    body_gradient: BodyGradient,
) -> tuple[dict[Tensor, Any], dict[Tensor, Tensor]]:
    """Gradients of the tensors that `loop` uses from outside, given those of its exits (None if there is none).

    `stacked` has gradients that reach tensors of the body in each iteration; `reached(tensor)` says whether a tensor
    from outside depends on an x, `keeps_rows(tensor)` whether its gradient should be rows if that of each iteration is.
    If `loop` is itself the gradient of a loop, it popped tensors of that loop from stacks; their gradients are the
    second result, on stacks.
    """
    variables = [i for i, e in enumerate(loop.enters) if trainable(e) and e.dtype.base_dtype != resource]
    invariants = [(i, o) for i, o in loop.invariants.items() if trainable(o) and reached(o)]
    if _is_of_nested_loops(loop):
        frame = loop.forward.frame_name if isinstance(loop, GradientLoop) else loop.frame_name
        raise LookupError(
            f"The second derivative through nested loops is not supported: {frame!r} has a loop in its body, whose "
            "values are kept on stacks."
        )
    pops = {t: p for t, p in loop.pops.items() if reached(t)} if isinstance(loop, GradientLoop) else {}
    handles: dict[Tensor, Tensor] = {}
    count = forward_loop(loop).count
    sums: list[tuple[Tensor, Tensor, Any]] = []  # inside, outside, the contribution of an iteration
    with name_scope("while_grad"):
        start = [_start(loop, i, exit_grads[i]) for i in variables]
        backward = GradientLoop(loop)
        shapes = [TensorShape([])] + [loop.merges[i].shape for i in variables]

        def body(n: Tensor, *grads: Tensor) -> list[Tensor]:
            backward.popped = get_op("ControlTrigger")(name="popped")
            with control_dependencies([backward.popped]):
                remaining = get_op("Sub")(n, 1, name="b_count_next")
            ys = [loop.next_iterations[i].op._inputs[0] for i in variables]
            xs = [loop.body_inputs[i] for i in variables] + [i for i, _ in invariants]
            coming: list[Any] = list(grads)
            for tensor, stacks in stacked.items():
                ys += [tensor] * len(stacks)
                coming += [backward.pop(handle, tensor) for handle in stacks]
            found = body_gradient(ys, [*xs, *pops.values()], coming)
            through, added = found[: len(variables)], found[len(variables) : len(xs)]
            for tensor, grad in zip(pops, found[len(xs) :], strict=True):
                if grad is not None:
                    handles[tensor] = _push(backward, n, convert_to_tensor(grad))
            sums.extend((*invariant, grad) for invariant, grad in zip(invariants, added, strict=True))
            following = [
                zeros_like(g) if new is None else convert_to_tensor(new) for new, g in zip(through, grads, strict=True)
            ]
            return [remaining, *following]

        backward.build(lambda n, *_: get_op("Greater")(n, 0), body, [identity(count), *start], shapes)
        found: dict[Tensor, Any] = {}
        for inside, tensor, grad in sums:
            in_rows = are_rows([grad]) and keeps_rows(tensor)
            found[inside] = (_joined_rows if in_rows else _summed)(backward, count, tensor, grad)
    for i, grad in zip(variables, backward.exits[1:], strict=False):
        grad._shape = grad._shape.merge_with(loop.enters[i].op._inputs[0].shape)
        found[loop.enters[i]] = grad
    with control_dependencies([backward.exits[0].op]):
        return found, {tensor: identity(handle) for tensor, handle in handles.items()}


def _is_of_nested_loops(loop: WhileContext) -> bool:
    """Whether its iterations use what those of a loop in another loop have kept: on stacks, one for each iteration,
    whose handles are popped, or, in graphs that TensorFlow made, on one for all of them."""
    if isinstance(loop, GradientLoop) and any(tensor.op.op_def.traits.holds == "stack" for tensor in loop.pops):
        return True
    gradients = [c for c in loop.graph._gradient_loops if isinstance(c, GradientLoop)]
    inner = [c for c in gradients if c is not loop and c.pops and loop.encloses(c)]
    return any(not loop.encloses(c.forward) for c in inner)


def _summed(backward: GradientLoop, count: Tensor, tensor: Tensor, grad: Any) -> Tensor:
    """The sum over iterations of `grad`, for a `tensor` that the loop uses from outside."""
    zeros = zeros_of(tensor)
    if grad is None:
        return zeros
    if tensor.dtype == variant:
        return backward.add_variable(zeros, lambda total: get_op("AddN")([total, grad]))
    return backward.add_variable(zeros, lambda total: get_op("AddV2")(total, convert_to_tensor(grad)))


def _joined_rows(backward: GradientLoop, count: Tensor, tensor: Tensor, grad: IndexedSlices) -> IndexedSlices:
    """The concatenated rows of all `count` iterations."""
    values, indices = (_joined(backward, count, part) for part in (grad.values, grad.indices))
    return IndexedSlices(values, indices, shape_outside(tensor))


def _joined(backward: GradientLoop, count: Tensor, part: Tensor) -> Tensor:
    """`part` of all iterations, the last one's first: TensorFlow's order, so that sums round alike."""
    shape = TensorShape([None]).concatenate(part.shape[1:])
    array = TensorArray(part.dtype, size=count, element_shape=shape, infer_shape=False, name="b_rows")

    def write(flow: Tensor) -> Tensor:
        place = get_op("Sub")(count, backward.body_inputs[0])
        return TensorArray(part.dtype, handle=array.handle, flow=flow, infer_shape=False).write(place, part).flow

    flow = backward.add_variable(array.flow, write)
    return TENSOR_ARRAY_CONCAT_V3(
        array.handle, flow, dtype=part.dtype, element_shape_except0=shape[1:], name="b_rows_joined"
    )[0]


def _push(backward: GradientLoop, n: Tensor, grad: Tensor) -> Tensor:
    """Push `grad` in each iteration, in order; returns the handle of the stack."""
    grad = backward.capture(grad)
    with outside(backward.outer):
        handle = STACK_V2(convert_to_tensor(-1), elem_type=grad.dtype.base_dtype, name="b_acc")
    context: ControlFlowContext = grad.op._control_flow_context
    with context.entered(), control_dependencies([n.op]):
        backward.before_next(STACK_PUSH_V2(handle, grad).op)
    return handle


def _start(loop: WhileContext, i: int, grad: Any) -> Tensor:
    return zeros_like(loop.exits[i]) if grad is None else convert_to_tensor(grad)


def zeros_like(tensor: Tensor) -> Tensor:
    return get_op("ZerosLike")(tensor)


def zeros_of(tensor: Tensor) -> Tensor:
    """Zeros for a tensor, or for the value of a variable that a reference or handle stands for."""
    if tensor.dtype == resource:
        dtype = handle_dtype(tensor)
        return zeros_like(get_op("ReadVariableOp")(tensor, dtype=dtype))
    return zeros_like(tensor)


def handle_dtype(tensor: Tensor) -> Any:
    """The dtype of the variable behind a resource handle."""
    op = tensor.op
    while op.op_def.traits.holds != "variable":
        if not op._inputs:
            raise ValueError(f"{tensor.name} is not a handle of a variable, so it has no gradient")
        op = op._inputs[0].op
    return op.attrs["dtype"]
