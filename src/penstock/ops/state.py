"""Reference variables: nodes that own a persistent tensor, and ops that change it (white paper section 2).

At run time an edge of a reference type carries the `VariableState` itself; an op that takes a value gets its buffer.
Updates happen in place: the plan copies values that were read before and are still needed (see `analysis/hazards.py`).
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.node_kernel import NodeKernel
from penstock.graph.opdef import PASS_THROUGH, Bound, Kernel, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.kernel_tools import TORCH_LACKS, as_signed
from penstock.runtime.kernels import KernelContext
from penstock.runtime.resources import VariableState
from penstock.tensor.dtypes import DType, as_dtype, string
from penstock.tensor.shapes import TensorShape

# --- buffers --------------------------------------------------------------------------------------------


def store(state: VariableState, value: Any) -> None:
    """Copy `value` into `state`, reusing its buffer if it fits.

    A copy, because `value` may be the caller's array (a feed), a constant, or a view of another variable.
    """
    buffer = state.value
    if isinstance(value, np.ndarray):
        state.value = value.copy()
    elif buffer is not None and buffer.shape == value.shape and buffer.device == value.device:
        buffer.copy_(value)
    else:
        state.value = value.clone(memory_format=torch.contiguous_format)


def take_over(state: VariableState, value: Any) -> None:
    """Like `store`, of a value that nobody else has: its memory becomes the variable's, if there is nothing else in it.

    A GPU's variables stay where they are if they can: captured segments know their addresses.
    """
    alone = (
        isinstance(value, torch.Tensor)
        and (state.value is None or not value.is_cuda)
        and value.is_contiguous()
        and value.untyped_storage().nbytes() == value.nbytes
        and not (value.is_conj() or value.is_neg())
    )
    if alone:
        state.value = value
    else:
        store(state, value)


def assignment(set_value: Callable[..., Any], use_locking: bool = True) -> NodeKernel:
    """The kernel of an op that assigns: `set_value(put, state, value)` checks the value, and puts it into the variable
    by `put(state, value)`."""

    def kernel(put: Callable[[VariableState, Any], None]) -> Kernel:
        update = functools.partial(set_value, put)
        return locked(update) if use_locking else update

    taking = NodeKernel(call=kernel(take_over))
    return NodeKernel(call=kernel(store), donating=lambda inputs: taking)


def locked(update: Kernel) -> Kernel:
    """Returns `update`, called while holding the lock of the variable that is its first argument."""

    def run(state: VariableState, *values: Any) -> Any:
        with state.lock:
            return update(state, *values)

    return run


def accumulator(op: str, method: Callable[[Any, Any], Any]) -> Kernel:
    """A kernel that changes the buffer in place by `method(buffer, value)` and returns the variable."""

    def update(state: VariableState, value: torch.Tensor) -> VariableState:
        buffer = state.read()
        if buffer.shape != value.shape:
            raise mismatch(op, state, value)
        method(buffer, value)
        return state

    return update


def signed_accumulator(op: str, method: Callable[[Any, Any], Any]) -> Kernel:
    """Like `accumulator`, for types that torch cannot add: sums have the same bits in the signed type."""
    return accumulator(op, lambda buffer, value: method(as_signed(buffer), as_signed(value)))


def mismatch(op: str, state: VariableState, value: Any) -> errors.InvalidArgumentError:
    held = state.shape if state.value is None else list(state.value.shape)
    return errors.InvalidArgumentError(
        None,
        None,
        f"{op} requires shapes of both tensors to match. lhs shape= {held} rhs shape= {list(value.shape)}"
        f" (variable {state.name})",
    )


NUMBERS = "float double half bfloat16 uint8 int8 int16 int32 int64 complex64 complex128"

# --- the variables themselves ---------------------------------------------------------------------------

_VARIABLE_ATTRS = ["shape: shape", "dtype: type", "container: string = ''", "shared_name: string = ''"]

VARIABLE_V2 = define_op(
    "VariableV2", "", "ref: Ref(dtype)", attrs=_VARIABLE_ATTRS, stateful=True, holds="variable", launches=True
)
VARIABLE_V2.shape(shape_rules.from_attr)
VARIABLE_V2.kernel()(lambda n: Bound(n.variable()))
VARIABLE_V2.not_differentiable()

VARIABLE = define_op(
    "Variable", "", "ref: Ref(dtype)", attrs=_VARIABLE_ATTRS, stateful=True, holds="variable", launches=True
)
VARIABLE.not_differentiable()


@VARIABLE.shape
def variable_shape(c: ShapeContext) -> TensorShape:
    """In this older op a scalar shape means that the shape is unknown."""
    return c.attrs["shape"] if c.attrs["shape"].ndims else UNKNOWN


@VARIABLE.kernel()
def variable_kernel(ctx: KernelContext) -> Bound:
    shape = ctx["shape"] if ctx["shape"].ndims else UNKNOWN
    return Bound(
        ctx.resources.variable(ctx.text("container"), ctx.text("shared_name") or ctx.name, ctx["dtype"], shape)
    )


TEMPORARY_VARIABLE = define_op(
    "TemporaryVariable",
    "",
    "ref: Ref(dtype)",
    attrs=["shape: shape", "dtype: type", "var_name: string = ''"],
    stateful=True,
    holds="temporary",
)
TEMPORARY_VARIABLE.shape(shape_rules.from_attr)
TEMPORARY_VARIABLE.not_differentiable()


class TemporaryState(VariableState):
    """A variable that lives for one step and has a value from the beginning."""

    __slots__ = ("__weakref__", "destroyed")

    def __init__(self, name: str, dtype: DType, shape: TensorShape) -> None:
        super().__init__(name, dtype, shape)
        self.destroyed = False


class _Alive(threading.local):
    """The temporary variables of running steps, each in one thread, by session and name."""

    def __init__(self) -> None:
        self.states: weakref.WeakValueDictionary[tuple[int, str], TemporaryState] = weakref.WeakValueDictionary()


_alive = _Alive()


@TEMPORARY_VARIABLE.kernel()
def temporary_variable_kernel(ctx: KernelContext) -> Kernel:
    name, dtype, shape = ctx.text("var_name") or ctx.name, ctx["dtype"], ctx["shape"]
    if not shape.is_fully_defined():
        raise errors.InvalidArgumentError(None, None, f"a temporary variable needs its whole shape, got {shape}")
    key, device = (id(ctx.state), name), ctx.device

    def create() -> TemporaryState:
        other = _alive.states.get(key)
        if other is not None and not other.destroyed:
            raise errors.AlreadyExistsError(None, None, f"there already is a temporary variable {name!r} already")
        found = _alive.states[key] = TemporaryState(name, dtype, shape)
        dims = shape.as_list()
        text = dtype.base_dtype == string
        found.value = np.full(dims, b"", object) if text else torch.zeros(dims, dtype=dtype.torch, device=device)
        return found

    return create


DESTROY_TEMPORARY_VARIABLE = define_op(
    "DestroyTemporaryVariable",
    "ref: Ref(T)",
    "value: T",
    attrs=["T: type", "var_name: string"],
    aliases=True,
    reads="ref",
    work=SERIAL,
)
DESTROY_TEMPORARY_VARIABLE.shape(shape_rules.unchanged)


@DESTROY_TEMPORARY_VARIABLE.kernel()
def destroy_temporary_variable_kernel(ctx: KernelContext) -> Kernel:
    name = ctx.text("var_name")

    def destroy(state: VariableState) -> Any:
        if not isinstance(state, TemporaryState) or state.name != name or state.destroyed:
            raise errors.NotFoundError(None, None, f"there is no temporary variable {name!r}")
        state.destroyed = True
        return state.read()

    return destroy


DESTROY_TEMPORARY_VARIABLE.not_differentiable()

IS_VARIABLE_INITIALIZED = define_op(
    "IsVariableInitialized",
    "ref: Ref(dtype)",
    "is_initialized: bool",
    attrs=["dtype: type"],
    allows_uninitialized_input=True,
    reads="ref",
    work=SERIAL,
    sets_up=True,
)
IS_VARIABLE_INITIALIZED.shape(shape_rules.scalar)
IS_VARIABLE_INITIALIZED.kernel(host=("is_initialized",))(lambda n: is_initialized)
IS_VARIABLE_INITIALIZED.not_differentiable()


def is_initialized(state: VariableState) -> torch.Tensor:
    """Kernel: whether the variable has a value, a bool scalar."""
    return torch.tensor(state.value is not None)


# --- assignments ----------------------------------------------------------------------------------------

REF_IDENTITY = define_op(
    "RefIdentity",
    "input: Ref(T)",
    "output: Ref(T)",
    attrs=["T: type"],
    allows_uninitialized_input=True,
    aliases=True,
    reads="input",
    shape=shape_rules.unchanged,
    work=SERIAL,
)
REF_IDENTITY.kernel()(lambda n: PASS_THROUGH)
REF_IDENTITY.gradient(lambda op, grad: grad)


ASSIGN = define_op(
    "Assign",
    "ref: Ref(T), value: T",
    "output_ref: Ref(T)",
    attrs=["T: type", "validate_shape: bool = true", "use_locking: bool = true"],
    allows_uninitialized_input=True,
    aliases=True,
    work=1.0,
    assigns=True,
    launches=True,
)
ASSIGN.not_differentiable()


@ASSIGN.shape
def assign_shape(c: ShapeContext, ref: TensorShape, value: TensorShape) -> TensorShape:
    return ref.merge_with(value) if c.attrs["validate_shape"] else value


@ASSIGN.kernel()
def assign_kernel(ctx: KernelContext) -> NodeKernel:
    validate = ctx["validate_shape"]

    def update(put: Callable[..., None], ref: VariableState, value: Any) -> VariableState:
        if validate:
            buffer = ref.value
            if not ref.shape.is_compatible_with(value.shape) if buffer is None else buffer.shape != value.shape:
                raise mismatch("Assign", ref, value)
        put(ref, value)
        return ref

    return assignment(update, ctx["use_locking"])


def _define_accumulation(name: str, method: Callable[[Any, Any], Any]) -> Any:
    op = define_op(
        name,
        "ref: Ref(T), value: T",
        "output_ref: Ref(T)",
        attrs=["T: numbertype", "use_locking: bool = false"],
        aliases=True,
        work=1.0,
        launches=True,
    )
    op.not_differentiable()

    @op.shape
    def shape(c: ShapeContext, ref: TensorShape, value: TensorShape) -> TensorShape:
        return ref.merge_with(value)

    @op.kernel(T=NUMBERS)
    def kernel(ctx: KernelContext) -> Kernel:
        update = accumulator(name, method)
        return locked(update) if ctx["use_locking"] else update

    @op.kernel(T=TORCH_LACKS)
    def unsigned_kernel(ctx: KernelContext) -> Kernel:
        update = signed_accumulator(name, method)
        return locked(update) if ctx["use_locking"] else update

    return op


ASSIGN_ADD = _define_accumulation("AssignAdd", torch.Tensor.add_)
ASSIGN_SUB = _define_accumulation("AssignSub", torch.Tensor.sub_)

COUNT_UP_TO = define_op("CountUpTo", "ref: Ref(T)", "output: T", attrs=["limit: int", "T: indextype"], work=SERIAL)
COUNT_UP_TO.not_differentiable()


@COUNT_UP_TO.shape
def count_up_to_shape(c: ShapeContext, ref: TensorShape) -> TensorShape:
    return ref.with_rank(0)


def counter(ctx: KernelContext) -> Kernel:
    """Kernel factory: return the value and add one, or raise OutOfRangeError at the limit."""
    limit = ctx["limit"]

    def count(state: VariableState) -> torch.Tensor:
        buffer = state.read()
        if buffer.ndim:
            raise errors.InvalidArgumentError(None, None, f"{state.name} is not a scalar: {list(buffer.shape)}")
        if buffer.item() >= limit:
            raise errors.OutOfRangeError(None, None, f"Reached limit of {limit}")
        before = buffer.clone()
        buffer.add_(1)
        return before

    return locked(count)


COUNT_UP_TO.kernel()(counter)

# --- functions ------------------------------------------------------------------------------------------


def is_reference(ref: Any) -> bool:
    """Whether `ref` is a reference variable or edge; a resource variable is not."""
    return hasattr(ref, "_ref") or bool(as_dtype(ref.dtype)._is_ref_dtype)


@export("is_variable_initialized")
def is_variable_initialized(variable: Any, name: str | None = None) -> Tensor:
    """Whether `variable` has a value, a bool scalar (TF: tf.is_variable_initialized)."""
    if is_reference(variable):
        return IS_VARIABLE_INITIALIZED(variable, name=name)
    return variable.is_initialized(name=name)


@export("assign")
def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Set the variable `ref` to `value`, which must have its shape unless `validate_shape` is False.

    Returns the variable's new contents: a reference for a reference variable. Raises InvalidArgumentError at run time
    for a different shape. TF: tf.assign.
    """
    if is_reference(ref):
        return ASSIGN(ref, value, validate_shape=validate_shape, use_locking=use_locking, name=name)
    return ref.assign(value, name=name)


@export("assign_add")
def assign_add(ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Add `value`, of the same shape, to the variable `ref` (TF: tf.assign_add)."""
    if is_reference(ref):
        return ASSIGN_ADD(ref, value, use_locking=use_locking, name=name)
    return ref.assign_add(value, name=name)


@export("assign_sub")
def assign_sub(ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Subtract `value`, of the same shape, from the variable `ref` (TF: tf.assign_sub)."""
    if is_reference(ref):
        return ASSIGN_SUB(ref, value, use_locking=use_locking, name=name)
    return ref.assign_sub(value, name=name)


@export("count_up_to")
def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """The value of the int scalar `ref`, which is then incremented; raises OutOfRangeError once it is `limit`."""
    if is_reference(ref):
        return COUNT_UP_TO(ref, limit=limit, name=name)
    return get_op("ResourceCountUpTo")(ref.handle, limit=limit, T=ref.dtype, name=name)


def temporary_variable(shape: Any, dtype: Any, var_name: str = "", name: str | None = None) -> Operation | Tensor:
    """A variable that lives in one step, between this node and `destroy_temporary_variable`."""
    return TEMPORARY_VARIABLE(shape=shape, dtype=dtype, var_name=var_name, name=name)
