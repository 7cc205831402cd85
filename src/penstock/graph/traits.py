"""Traits: what analyses, passes and generators must know of an op, said once where it is defined, or derived here.

`Traits` is what an author gives, as arguments of `define_op`; the functions below give what follows of that and of the
op's rules. What cannot be derived has no default that would be believed: `work` is then None, which a test refuses.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from penstock.tensor.dtypes import resource, string

if TYPE_CHECKING:
    from penstock.graph.opdef import ArgDef, OpDef

SERIAL = 0.0
"""The work of ops that no thread shares: they do nothing, or are computed by NumPy or Python in the calling thread."""
UNKNOWN_WORK = math.inf
"""The work of ops of which nobody can know it: what the client's code does."""

T = TypeVar("T")
View = Literal["", "same", "reshaped", "value"]
Bits16 = Literal["", "allow", "infer", "clear", "deny"]
Holds = Literal["", "variable", "temporary", "stack", "array"]


@dataclass(frozen=True, slots=True)
class Traits:
    """What an op's author says of it besides its signature.

    work: the time that an element of its largest tensor takes, in elements of an addition, as far as threads can share
    it: a number (in compiled code, where there is an expression in C), SERIAL or UNKNOWN_WORK. Ops with `@OP.flops`
    need none; see `work_per_element` for others.
    view: the first output is all of the first input. "same": itself, so that a variable that was read shows through;
    "reshaped": its memory with another shape or type, through which it shows as well; "value": the same numbers, which
    keep the value of that moment.
    free: moves, names or holds values, and computes nothing; a step spends no time on it. Views that only name follow.
    part: takes or changes only a part of its first input, which may be much larger than what is done.
    launches: on a GPU its kernels only launch, unless inputs or attributes make them look at values on the host. What
    gives each element by the elements in its place needs not say so.
    allocates: whether results are dense memory of their own, new in each step; None if it follows (see `allocates`).
    bits16: how `passes/reduced_precision.py` paints it, with TensorFlow's words: "allow" is always reduced where it is
    large, "infer" between such ops but not after one of "deny", "clear" wherever that saves a cast, "deny" never.
    holds: what kind of state it gives a handle of. Stacks and arrays live for one step.
    gives_back: tells of what was put into a stack or an array in the same step. What takes it out need not say so.
    assigns: the variable that is its first input becomes its second one.
    sets_up: belongs to initialising, saving and restoring, not to what a graph is for. Assignments need not say so.
    refuses: looks at what it is given, and may raise an error though it changes nothing. What refuses "always" is run
    even where its result is only waited for.
    repeatable: called stateful, but leaves nothing behind.
    constant: gives its attribute `value`, always.
    placeholder: gives what a client feeds.
    of_shapes: says of the shapes of its inputs, whatever is in them.
    """

    work: float | None = None
    view: View = ""
    free: bool = False
    part: bool = False
    launches: bool = False
    allocates: bool | None = None
    bits16: Bits16 = ""
    holds: Holds = ""
    gives_back: bool = False
    assigns: bool = False
    sets_up: bool = False
    refuses: Literal["", "taken", "always"] = ""
    repeatable: bool = False
    constant: bool = False
    placeholder: bool = False
    of_shapes: bool = False


# --- shape classes --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShapeClass:
    """Which input has the shape of the first output, whatever it is.

    kind: "first": the first input has. "broadcast": that of two inputs to which the other adds nothing. "asked": the
    value of the input called `input` is the shape. element_wise: nothing but the shape follows from the rule, and each
    element of the result from those in its place.
    """

    kind: Literal["first", "broadcast", "asked"]
    input: str = ""
    element_wise: bool = False


ShapeRule = Callable[..., Any]
_CLASSES: dict[ShapeRule, ShapeClass] = {}


def of_class(found: ShapeClass) -> Callable[[ShapeRule], ShapeRule]:
    """Decorator of shape rules: ops with such a rule are of this class, where they run at all."""

    def register(rule: ShapeRule) -> ShapeRule:
        _CLASSES[rule] = found
        return rule

    return register


def shape_class(op: OpDef) -> ShapeClass | None:
    """What the op's shape rule says; None if it says nothing that holds for all shapes."""
    return _CLASSES.get(op.shape_fn) if op.shape_fn is not None else None


# --- what follows ---------------------------------------------------------------------------------------


def _derived(rule: Callable[[OpDef], T]) -> Callable[[OpDef], T]:
    """Decorator: ask `rule` once for each op, whose rules are settled by then."""

    @functools.wraps(rule)
    def found(op: OpDef) -> T:
        if rule not in op.derived:
            op.derived[rule] = rule(op)
        answer: T = op.derived[rule]
        return answer

    return found


def shows_input(op: OpDef) -> bool:
    """Whether its result is its first input's memory in TensorFlow (IdentityN's: each input's), whatever it is given: a
    variable that was read shows through. Where that depends (on how a slice lies, say), ops give a new value here."""
    return op.traits.view in ("same", "reshaped")


@_derived
def only_names(op: OpDef) -> bool:
    """Whether it gives a value another name or shape, and does nothing else."""
    return bool(op.traits.view) and not op.traits.refuses and not op.stateful


@_derived
def does_nothing(op: OpDef) -> bool:
    """Whether it takes and gives nothing: it is there to be waited for."""
    return op.traits.free and not (op.inputs or op.outputs or op.stateful)


@_derived
def is_free(op: OpDef) -> bool:
    """Whether it moves, names or holds values and computes nothing."""
    traits = op.traits
    names = only_names(op) and traits.view != "reshaped" and not any(map(_is_handle, op.inputs))
    return traits.free or traits.constant or traits.placeholder or traits.holds == "variable" or names


@_derived
def work_per_element(op: OpDef) -> float | None:
    """`Traits.work`; None if nobody has said it and it does not follow. It means nothing for ops with `flops_fn`.

    It follows for what is free, shows its inputs' memory, or has to do with text, which torch does not know.
    """
    if op.traits.work is not None:
        return op.traits.work
    shows = op.aliases and not any(map(_is_handle, op.inputs))
    return SERIAL if shows or _is_serial(op) else None


@_derived
def allocates(op: OpDef) -> bool:
    """Whether its results are dense memory of their own, which nobody else has, new in each step.

    It follows for ops that share no memory with inputs and use no state: tests/ops/harness.py looks at every sample.
    """
    if op.traits.allocates is not None:
        return op.traits.allocates
    holds = op.stateful or any(map(_is_handle, (*op.inputs, *op.outputs)))
    return not (op.aliases or holds or is_free(op) or op.traits.work == UNKNOWN_WORK)


@_derived
def only_launches(op: OpDef) -> bool:
    """Whether its kernels on a GPU do nothing but launch, if they run without the contents of their inputs."""
    found = shape_class(op)
    element_wise = found is not None and found.element_wise
    computes = element_wise and not op.stateful and op.traits.work != SERIAL and not _is_text(op)
    names = is_free(op) and only_names(op) and bool(op.kernels)  # what has none is for the executor to do
    return op.traits.launches or computes or names


def gives_back(op: OpDef) -> bool:
    """Whether it takes out of a stack or an array what was put there in the same step, or says how much that is."""
    return op.takes_fn is not None or op.traits.gives_back


@_derived
def lives_for_a_step(op: OpDef) -> bool:
    """Whether it makes, or uses, a stack or an array, which live for one step."""
    return op.traits.holds in ("stack", "array") or op.puts_fn is not None or gives_back(op)


def _is_handle(arg: ArgDef) -> bool:
    return arg.is_ref or arg.dtype == resource


def _is_serial(op: OpDef) -> bool:
    """Whether the calling thread computes what there is to compute."""
    if op.traits.work == SERIAL or is_free(op) or op.traits.of_shapes or op.traits.holds or _is_text(op):
        return True
    return not any(arg.dtype is None or arg.dtype.torch is not None for arg in (*op.inputs, *op.outputs))


def _is_text(op: OpDef) -> bool:
    return any(arg.dtype == string for arg in (*op.inputs, *op.outputs))
