"""Dense optimizer updates: each changes a variable and its slots in place, for a whole gradient.

Every update has two ops, as in TensorFlow: one for reference variables, which returns the reference, and one for
resource variables. `training_updates.py` has the arithmetic, `training_sparse.py` the row-wise ops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock import errors
from penstock.graph.opdef import Kernel, OpDef, define_op
from penstock.graph.shape_context import SCALAR, UNKNOWN, ShapeContext
from penstock.ops import training_updates as updates
from penstock.ops.resource_variables import handle_shape
from penstock.ops.state import locked
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import resource
from penstock.tensor.shapes import TensorShape

FLOATS = "half bfloat16 float double"
FLOATS_AND_COMPLEX = f"{FLOATS} complex64 complex128"

LOCKING = "use_locking: bool = false"


def define_update(
    name: str,
    resource_name: str,
    states: str,
    values: str,
    update: updates.UpdateFactory,
    *,
    leading: tuple[str, ...] = (),
    attrs: tuple[str, ...] = (),
    types: str = FLOATS_AND_COMPLEX,
    shape: Callable[..., Any] | None = None,
    kernel: Callable[[updates.UpdateFactory, int], Callable[[Any], Kernel]] | None = None,
    launches: bool = True,
    part: bool = False,
) -> tuple[OpDef | None, OpDef | None]:
    """Define the op `name` for reference variables and `resource_name` for resources ("" for none).

    `states` names the variables that change, `values` the other inputs; `leading` and `attrs` are the
    attributes before and after `use_locking`.
    """
    held, settled = states.split(), ["T: numbertype", *leading, LOCKING, *attrs]
    ops: list[OpDef | None] = [None, None]
    traits = {"work": 1.0, "launches": launches, "part": part}
    if name:
        inputs = ", ".join([*(f"{s}: Ref(T)" for s in held), values])
        ops[0] = define_op(name, inputs, "out: Ref(T)", attrs=settled, aliases=True, **traits)
    if resource_name:
        inputs = ", ".join([*(f"{s}: resource" for s in held), values])
        ops[1] = define_op(resource_name, inputs, attrs=settled, stateful=True, **traits)
    for op in ops:
        if op is not None:
            op.shape(shape or dense_shape)
            op.kernel(T=types)((kernel or dense_kernel)(update, len(held)))
            op.not_differentiable()
    return ops[0], ops[1]


# --- shapes ---------------------------------------------------------------------------------------------


def dense_shape(c: ShapeContext, *shapes: TensorShape) -> list[TensorShape]:
    """Variables and gradient have the same shape; all other inputs are scalars."""
    return merge_shapes(c, shapes, lambda merged: merged)


def merge_shapes(
    c: ShapeContext, shapes: tuple[TensorShape, ...], of_gradient: Callable[[TensorShape], TensorShape]
) -> list[TensorShape]:
    merged = UNKNOWN
    for arg, tensor in zip(c.op.op_def.inputs, c.op.inputs, strict=True):
        if arg.is_ref:
            merged = merged.merge_with(tensor.shape)
        elif arg.dtype == resource:
            merged = merged.merge_with(handle_shape(tensor))
    for arg, shape in zip(c.op.op_def.inputs, shapes, strict=True):
        if arg.name in ("grad", "delta"):
            of_gradient(merged).merge_with(shape)
        elif not (arg.is_ref or arg.dtype == resource or arg.name == "indices"):
            SCALAR.merge_with(shape)
    return [merged] * len(c.op.outputs)


# --- kernels --------------------------------------------------------------------------------------------


def dense_kernel(make_update: updates.UpdateFactory, states: int) -> Callable[[Any], Kernel]:
    """A kernel factory for an update of `states` variables: reads their buffers, and locks if requested."""

    def factory(ctx: KernelContext) -> Kernel:
        update = make_update(ctx)
        if not _shapes_are_known(ctx, states):
            update = _checked(ctx, update, states)
        plain = _KERNELS.get(states, _many)(update, states)
        return locked(plain) if ctx["use_locking"] else plain

    return factory


def _one(update: updates.Update, states: int) -> Kernel:
    def apply(var: Any, *values: Any) -> Any:
        update(var.read(), *values)
        return var

    return apply


def _two(update: updates.Update, states: int) -> Kernel:
    def apply(var: Any, slot: Any, *values: Any) -> Any:
        update(var.read(), slot.read(), *values)
        return var

    return apply


def _three(update: updates.Update, states: int) -> Kernel:
    def apply(var: Any, slot: Any, slot2: Any, *values: Any) -> Any:
        update(var.read(), slot.read(), slot2.read(), *values)
        return var

    return apply


def _many(update: updates.Update, states: int) -> Kernel:
    def apply(*args: Any) -> Any:
        update(*(state.read() for state in args[:states]), *args[states:])
        return args[0]

    return apply


_KERNELS = {1: _one, 2: _two, 3: _three}


def _shapes_are_known(ctx: KernelContext, states: int) -> bool:
    """Whether the static shapes already show that variables and gradient match."""
    found = []
    for arg, edge in zip(ctx.node.op.inputs, ctx.node.inputs, strict=True):
        if arg.is_ref:
            found.append(edge.node.shapes[edge.port])
        elif arg.dtype == resource:
            found.append(edge.node.attrs.get("shape", UNKNOWN))
        elif arg.name in ("grad", "delta"):
            found.append(edge.node.shapes[edge.port])
    return all(s.is_fully_defined() and s == found[0] for s in found)


def _checked(ctx: KernelContext, update: updates.Update, states: int) -> updates.Update:
    """torch would broadcast a gradient of a different shape, which must be an error."""
    names = [arg.name for arg in ctx.node.op.inputs]
    at = next(i for i, name in enumerate(names) if name in ("grad", "delta"))

    def checked(*args: Any) -> None:
        shape = args[0].shape
        for i in (*range(1, states), at):
            if args[i].shape != shape:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"var and {names[i]} do not have the same shape: {list(shape)} {list(args[i].shape)}",
                )
        update(*args)

    return checked


# --- the ops --------------------------------------------------------------------------------------------

NESTEROV = ("use_nesterov: bool = false",)
UPDATE_SLOTS = ("update_slots: bool = true",)
BY_RATE = ("multiply_linear_by_lr: bool = false",)

APPLY_GRADIENT_DESCENT, RESOURCE_APPLY_GRADIENT_DESCENT = define_update(
    "ApplyGradientDescent",
    "ResourceApplyGradientDescent",
    "var",
    "alpha: T, delta: T",
    updates.gradient_descent,
)
APPLY_MOMENTUM, RESOURCE_APPLY_MOMENTUM = define_update(
    "ApplyMomentum",
    "ResourceApplyMomentum",
    "var accum",
    "lr: T, grad: T, momentum: T",
    updates.momentum,
    attrs=NESTEROV,
)
APPLY_ADAGRAD, RESOURCE_APPLY_ADAGRAD = define_update(
    "ApplyAdagrad",
    "ResourceApplyAdagrad",
    "var accum",
    "lr: T, grad: T",
    updates.adagrad,
    attrs=UPDATE_SLOTS,
)
APPLY_ADAGRAD_V2, RESOURCE_APPLY_ADAGRAD_V2 = define_update(
    "ApplyAdagradV2",
    "ResourceApplyAdagradV2",
    "var accum",
    "lr: T, epsilon: T, grad: T",
    updates.adagrad_v2,
    attrs=UPDATE_SLOTS,
)
APPLY_ADADELTA, RESOURCE_APPLY_ADADELTA = define_update(
    "ApplyAdadelta",
    "ResourceApplyAdadelta",
    "var accum accum_update",
    "lr: T, rho: T, epsilon: T, grad: T",
    updates.adadelta,
)
APPLY_ADAGRAD_DA, RESOURCE_APPLY_ADAGRAD_DA = define_update(
    "ApplyAdagradDA",
    "ResourceApplyAdagradDA",
    "var gradient_accumulator gradient_squared_accumulator",
    "grad: T, lr: T, l1: T, l2: T, global_step: int64",
    updates.adagrad_da,
    types=FLOATS,
)
APPLY_ADAM, RESOURCE_APPLY_ADAM = define_update(
    "ApplyAdam",
    "ResourceApplyAdam",
    "var m v",
    "beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T",
    updates.adam,
    attrs=NESTEROV,
)
APPLY_ADA_MAX, RESOURCE_APPLY_ADA_MAX = define_update(
    "ApplyAdaMax",
    "ResourceApplyAdaMax",
    "var m v",
    "beta1_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T",
    updates.ada_max,
    types=FLOATS,
)
APPLY_RMS_PROP, RESOURCE_APPLY_RMS_PROP = define_update(
    "ApplyRMSProp",
    "ResourceApplyRMSProp",
    "var ms mom",
    "lr: T, rho: T, momentum: T, epsilon: T, grad: T",
    updates.rms_prop,
)
APPLY_CENTERED_RMS_PROP, RESOURCE_APPLY_CENTERED_RMS_PROP = define_update(
    "ApplyCenteredRMSProp",
    "ResourceApplyCenteredRMSProp",
    "var mg ms mom",
    "lr: T, rho: T, momentum: T, epsilon: T, grad: T",
    updates.centered_rms_prop,
)
APPLY_FTRL, RESOURCE_APPLY_FTRL = define_update(
    "ApplyFtrl",
    "ResourceApplyFtrl",
    "var accum linear",
    "grad: T, lr: T, l1: T, l2: T, lr_power: T",
    updates.ftrl,
    attrs=BY_RATE,
    types=FLOATS,
)
APPLY_FTRL_V2, RESOURCE_APPLY_FTRL_V2 = define_update(
    "ApplyFtrlV2",
    "ResourceApplyFtrlV2",
    "var accum linear",
    "grad: T, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T",
    updates.ftrl_v2,
    attrs=BY_RATE,
    types=FLOATS,
)
APPLY_PROXIMAL_GRADIENT_DESCENT, RESOURCE_APPLY_PROXIMAL_GRADIENT_DESCENT = define_update(
    "ApplyProximalGradientDescent",
    "ResourceApplyProximalGradientDescent",
    "var",
    "alpha: T, l1: T, l2: T, delta: T",
    updates.proximal_gradient_descent,
    types=FLOATS,
)
APPLY_PROXIMAL_ADAGRAD, RESOURCE_APPLY_PROXIMAL_ADAGRAD = define_update(
    "ApplyProximalAdagrad",
    "ResourceApplyProximalAdagrad",
    "var accum",
    "lr: T, l1: T, l2: T, grad: T",
    updates.proximal_adagrad,
    types=FLOATS,
)
