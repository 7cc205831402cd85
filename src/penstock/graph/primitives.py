"""The primitives of control flow (white paper section 4.4): signature, shape, gradient.

Like nodes and edges they are part of every graph: analyses and passes refer to them by name. They have no kernels: the
executor implements them. Switch sends its data to one of its outputs and a dead token to the other; Merge forwards the
one live input that it gets; Enter, Exit and NextIteration move values between the frames and iterations of a loop.
"""

from __future__ import annotations

from typing import Any

from penstock.graph.opdef import define_op
from penstock.graph.operation import Operation
from penstock.graph.shape_context import SCALAR, UNKNOWN, ShapeContext
from penstock.tensor.shapes import TensorShape


def _two(c: ShapeContext, data: TensorShape, pred: TensorShape) -> list[TensorShape]:
    pred.assert_has_rank(0)
    return [data, data]


def _merged(c: ShapeContext, inputs: list[TensorShape]) -> list[TensorShape]:
    """What all inputs agree on: any of them may be the live one."""
    shape = inputs[0]
    for other in inputs[1:]:
        shape = shape.most_specific_compatible_shape(other)
    return [shape, SCALAR]


def _invariant(c: ShapeContext, data: TensorShape, *_: Any) -> TensorShape:
    """A loop constant keeps its shape; the Merge determines the shape of a loop variable."""
    return data


def _unknown(c: ShapeContext, *_: Any) -> TensorShape:
    return UNKNOWN


SWITCH = define_op(
    "Switch",
    "data: T, pred: bool",
    "output_false: T, output_true: T",
    attrs=["T: type"],
    aliases=True,
    shape=_two,
    view="same",
)
REF_SWITCH = define_op(
    "RefSwitch",
    "data: Ref(T), pred: bool",
    "output_false: Ref(T), output_true: Ref(T)",
    attrs=["T: type"],
    allows_uninitialized_input=True,
    aliases=True,
    reads="data",
    shape=_two,
    view="same",
    free=True,
)
MERGE = define_op(
    "Merge",
    "inputs: N * T",
    "output: T, value_index: int32",
    attrs=["T: type", "N: int >= 1"],
    aliases=True,
    shape=_merged,
    view="same",
)
REF_MERGE = define_op(
    "RefMerge",
    "inputs: Ref(N * T)",
    "output: Ref(T), value_index: int32",
    attrs=["T: type", "N: int >= 1"],
    aliases=True,
    reads="inputs",
    shape=_merged,
    view="same",
    free=True,
)
_ENTER_ATTRS = ["T: type", "frame_name: string", "is_constant: bool = false", "parallel_iterations: int = 10"]
ENTER = define_op("Enter", "data: T", "output: T", attrs=_ENTER_ATTRS, aliases=True, shape=_invariant, view="same")
REF_ENTER = define_op(
    "RefEnter",
    "data: Ref(T)",
    "output: Ref(T)",
    attrs=_ENTER_ATTRS,
    aliases=True,
    reads="data",
    shape=_invariant,
    view="same",
    free=True,
)
EXIT = define_op("Exit", "data: T", "output: T", attrs=["T: type"], aliases=True, shape=_invariant, view="same")
REF_EXIT = define_op(
    "RefExit",
    "data: Ref(T)",
    "output: Ref(T)",
    attrs=["T: type"],
    aliases=True,
    reads="data",
    shape=_invariant,
    view="same",
    free=True,
)
NEXT_ITERATION = define_op(
    "NextIteration", "data: T", "output: T", attrs=["T: type"], aliases=True, shape=_invariant, view="same"
)
REF_NEXT_ITERATION = define_op(
    "RefNextIteration",
    "data: Ref(T)",
    "output: Ref(T)",
    attrs=["T: type"],
    aliases=True,
    reads="data",
    shape=_invariant,
    view="same",
    free=True,
)
LOOP_COND = define_op("LoopCond", "input: bool", "output: bool", aliases=True, shape=_invariant, free=True)
CONTROL_TRIGGER = define_op("ControlTrigger", shape=lambda c: [], free=True)
CONTROL_TRIGGER.kernel()(lambda n: None)
CONTROL_TRIGGER.not_differentiable()

SWITCHES = frozenset({"Switch", "RefSwitch"})
MERGES = frozenset({"Merge", "RefMerge"})
ENTERS = frozenset({"Enter", "RefEnter"})
EXITS = frozenset({"Exit", "RefExit"})
NEXT_ITERATIONS = frozenset({"NextIteration", "RefNextIteration"})
PRIMITIVES = SWITCHES | MERGES | ENTERS | EXITS | NEXT_ITERATIONS | {"LoopCond"}
"""The op types that the executor itself implements."""


@SWITCH.gradient
@REF_SWITCH.gradient
@MERGE.gradient
@REF_MERGE.gradient
@ENTER.gradient
@REF_ENTER.gradient
@EXIT.gradient
@REF_EXIT.gradient
@NEXT_ITERATION.gradient
@REF_NEXT_ITERATION.gradient
@LOOP_COND.gradient
def primitive_gradient(op: Operation, *grads: Any) -> Any:
    """The backward walk handles conditionals and loops as units, if it finds them."""
    raise LookupError(
        f"{op.name} ({op.type}) has a gradient only as part of a conditional or a loop of the form that tf.cond and "
        "tf.while_loop build."
    )
