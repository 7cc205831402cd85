"""Conditionals and loops whose branches and bodies are functions: If, Case, While, as TensorFlow 2 writes them.

They are written with Switch, Merge and loop variables before a step is planned and when gradients are built.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph.convert import convert_to_tensor
from penstock.graph.graph_function import GraphFunction
from penstock.graph.inline import Body, inline, inline_results, lowers
from penstock.graph.opdef import OpDef, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import control_dependencies
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.basic import no_op
from penstock.ops.control_flow.cond import cond
from penstock.ops.control_flow.while_loop import WhileContext
from penstock.tensor.dtypes import bool as bool_dtype, string
from penstock.tensor.shapes import TensorShape


def _define(name: str, inputs: str, outputs: str, attrs: list[str]) -> list[OpDef]:
    """The op of this name, which may have effects, and the one without: StatelessIf."""
    found = []
    for prefix, stateful in (("", True), ("Stateless", False)):
        op = define_op(prefix + name, inputs, outputs, attrs=attrs, stateful=stateful, aliases=True, work=SERIAL)
        op.not_differentiable()  # their gradient is that of what they are written with
        found.append(op)
    return found


_TYPES = ["Tin: list(type) >= 0", "Tout: list(type) >= 0"]
_SHAPES = "output_shapes: list(shape) = []"
IFS = _define(
    "If",
    "cond: Tcond, input: Tin",
    "output: Tout",
    ["Tcond: type", *_TYPES, "then_branch: func", "else_branch: func", _SHAPES],
)
CASES = _define(
    "Case", "branch_index: int32, input: Tin", "output: Tout", [*_TYPES, "branches: list(func) >= 1", _SHAPES]
)
WHILES = _define(
    "While",
    "input: T",
    "output: T",
    ["T: list(type) >= 0", "cond: func", "body: func", _SHAPES, "parallel_iterations: int = 10"],
)

# --- shapes ---------------------------------------------------------------------------------------------


def _common(functions: list[GraphFunction]) -> list[TensorShape]:
    """What the results of all functions agree on."""
    shapes = [tensor.shape for tensor in functions[0].results]
    for function in functions[1:]:
        shapes = [a.most_specific_compatible_shape(b.shape) for a, b in zip(shapes, function.results, strict=True)]
    return shapes


def _said(c: ShapeContext, found: list[TensorShape]) -> list[TensorShape]:
    """What the node says itself is more specific sometimes."""
    said = c.attrs["output_shapes"]
    return [a.merge_with(b) for a, b in zip(found, said, strict=True)] if len(said) == len(found) else found


def _if_shape(c: ShapeContext, pred: TensorShape, inputs: list[TensorShape]) -> list[TensorShape]:
    return _said(c, _common([c.attrs["then_branch"], c.attrs["else_branch"]]))


def _case_shape(c: ShapeContext, index: TensorShape, inputs: list[TensorShape]) -> list[TensorShape]:
    index.assert_has_rank(0)
    return _said(c, _common(c.attrs["branches"]))


def _while_shape(c: ShapeContext, inputs: list[TensorShape]) -> list[TensorShape]:
    return [
        shape if _passed_on(c.attrs["body"], i) else _invariant(c.attrs["body"], i, shape)
        for i, shape in enumerate(inputs)
    ]


for _ops, _rule in ((IFS, _if_shape), (CASES, _case_shape), (WHILES, _while_shape)):
    for _op in _ops:
        _op.shape(_rule)

# --- what they are written with -------------------------------------------------------------------------


@lowers("If", "StatelessIf")
def lower_if(op: Operation, inputs: list[Tensor]) -> Body:
    pred, *values = inputs
    return _chosen(_truth(pred), _branch(op.attrs["then_branch"], values), _branch(op.attrs["else_branch"], values))


@lowers("Case", "StatelessCase")
def lower_case(op: Operation, inputs: list[Tensor]) -> Body:
    """An index out of range means the last branch."""
    index, *values = inputs
    *branches, last = [_branch(function, values) for function in op.attrs["branches"]]
    if not branches:
        return last(), []
    for i, branch in reversed(list(enumerate(branches))):
        last = _either(index, i, branch, last)
    return _results_and_effects(last())


Branch = Callable[[], Any]


def _branch(function: GraphFunction, inputs: list[Tensor]) -> Branch:
    """Builds the results of `function`; if it has none, an operation that runs for its effects."""

    def build() -> Any:
        if function.results:
            return inline_results(function, inputs)
        with control_dependencies(inline(function, inputs)[1]):
            return no_op()

    return build


def _either(index: Tensor, i: int, branch: Branch, otherwise: Branch) -> Branch:
    return lambda: cond(get_op("Equal")(index, i), branch, otherwise, strict=True)


def _chosen(pred: Tensor, when_true: Branch, when_false: Branch) -> Body:
    return _results_and_effects(cond(pred, when_true, when_false, strict=True))


def _results_and_effects(found: Any) -> Body:
    """A list of results, or what stands for an operation that runs only for its effects."""
    if isinstance(found, Operation):
        return [], [found]
    return ([], [found.op]) if isinstance(found, Tensor) else (found, [])


def _truth(value: Tensor) -> Tensor:
    """A scalar bool: numbers other than 0 and texts other than "" are true, tensors if they have elements."""
    dtype = value.dtype.base_dtype
    if value.shape.ndims != 0 and value.shape.ndims is not None:
        return get_op("Greater")(get_op("Size")(value), 0)
    if dtype == bool_dtype:
        return value
    if dtype == string:
        return get_op("NotEqual")(value, b"")
    return get_op("Cast")(value, DstT=bool_dtype)


@lowers("While", "StatelessWhile")
def lower_while(op: Operation, inputs: list[Tensor]) -> Body:
    """Values that the body only passes on (weights, handles) are constants of the loop. Those that nothing uses, such
    as what it keeps for a gradient, are pruned if the loop has no effects."""
    condition, body = op.attrs["cond"], op.attrs["body"]
    changing = [i for i in range(len(inputs)) if not _passed_on(body, i)] or list(range(len(inputs)))
    values = [inputs[i] for i in changing] or [convert_to_tensor(0, name="count")]

    def given(variables: tuple[Tensor, ...]) -> list[Tensor]:
        now = dict(zip(changing, variables, strict=False))
        return [now.get(i, tensor) for i, tensor in enumerate(inputs)]

    def step(*variables: Tensor) -> list[Tensor]:
        found = inline_results(body, given(variables))
        return [found[i] for i in changing] or list(variables)

    loop = WhileContext(op.attrs["parallel_iterations"])
    shapes = [_invariant(body, i, inputs[i].shape) for i in changing] or [TensorShape([])]
    loop.build(lambda *variables: _truth(inline_results(condition, given(variables))[0]), step, values, shapes)
    exits = dict(zip(changing, loop.exits, strict=False))
    effects = [t.op for t in loop.exits] if condition.is_stateful or body.is_stateful else []
    return [exits.get(i, tensor) for i, tensor in enumerate(inputs)], effects


def _passed_on(body: GraphFunction, i: int) -> bool:
    tensor = body.results[i]
    while tensor.op.type == "Identity" and not tensor.op._control_inputs:
        tensor = tensor.op._inputs[0]
    return tensor is body.arguments[i]


def _invariant(body: GraphFunction, i: int, shape: TensorShape) -> TensorShape:
    """The shape of a loop variable that enters with `shape`."""
    return shape.most_specific_compatible_shape(body.results[i].shape) if shape.ndims is not None else UNKNOWN
