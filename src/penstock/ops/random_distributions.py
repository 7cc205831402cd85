"""Random numbers from other distributions: gamma, Poisson, and truncated normals."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, OpDef, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import get_seed, name_scope
from penstock.graph.shape_context import ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.arithmetic import ADD_V2, MAXIMUM
from penstock.ops.array import size as size_of
from penstock.ops.division import REAL_DIV
from penstock.ops.filling import zeros_like
from penstock.ops.random import SEEDS, sampler, shape_tensor
from penstock.ops.reduce import reduce_sum
from penstock.ops.sequences import range as range_
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import float32
from penstock.tensor.shapes import TensorShape

# --- truncated normals ----------------------------------------------------------------------------------------

PARAMETERIZED_TRUNCATED_NORMAL = define_op(
    "ParameterizedTruncatedNormal",
    "shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype",
    "output: dtype",
    attrs=[*SEEDS, "dtype: floattype", "T: indextype"],
    stateful=True,
    work=64.0,
)
PARAMETERIZED_TRUNCATED_NORMAL.not_differentiable()


@PARAMETERIZED_TRUNCATED_NORMAL.shape
def parameterized_truncated_normal_shape(c: ShapeContext, shape: TensorShape, *params: TensorShape) -> TensorShape:
    for param in params:
        param.with_rank_at_most(1)
    return c.constant_shape("shape")


@PARAMETERIZED_TRUNCATED_NORMAL.kernel(host=("shape",))
def parameterized_truncated_normal_kernel(ctx: KernelContext) -> Kernel:
    """Normals truncated to [minval, maxval]; the parameters are scalars, or one for each row of the output."""
    generator, dtype, device = ctx.generator(), ctx.torch_dtype("dtype"), ctx.device

    def draw(size: tuple[int, ...], *params: torch.Tensor) -> torch.Tensor:
        if not size:
            raise errors.InvalidArgumentError(None, None, "Shape cannot be a scalar: its first entry counts batches")
        spread = (-1, *[1] * (len(size) - 1))
        mean, deviation, low, high = (p.double().reshape(spread) if p.ndim else p.double() for p in params)
        if not (deviation > 0).all() or not (low < high).all():
            raise errors.InvalidArgumentError(None, None, "Need stdevs > 0 and minvals < maxvals")
        low, high = (low - mean) / deviation, (high - mean) / deviation
        # ndtr is precise in its lower tail: intervals above the mean are mirrored to below it.
        sign = torch.where(low > 0, -1.0, 1.0).double()
        low, high = torch.minimum(low * sign, high * sign), torch.maximum(low * sign, high * sign)
        below, above = torch.special.ndtr(low), torch.special.ndtr(high)
        uniform = torch.rand(size, generator=generator, dtype=torch.float64, device=device)
        found = torch.special.ndtri(below + (above - below) * uniform)
        return (torch.clamp(found, low, high) * sign * deviation + mean).to(dtype)

    return sampler(ctx, draw)


# --- gamma and Poisson ----------------------------------------------------------------------------------


def _per_parameter_shape(c: ShapeContext, shape: TensorShape, parameter: TensorShape) -> TensorShape:
    return c.constant_shape("shape").concatenate(parameter)


RANDOM_GAMMA = define_op(
    "RandomGamma",
    "shape: S, alpha: T",
    "output: T",
    attrs=[*SEEDS, "S: indextype", "T: {half, float, double}"],
    stateful=True,
    work=SERIAL,
)
RANDOM_GAMMA.shape(_per_parameter_shape)


@RANDOM_GAMMA.kernel(host=("shape",))
def random_gamma_kernel(ctx: KernelContext) -> Kernel:
    generator = ctx.generator()

    def draw(size: tuple[int, ...], alpha: torch.Tensor) -> torch.Tensor:
        wide = alpha.float() if alpha.dtype == torch.float16 else alpha
        expanded = wide.expand(*size, *wide.shape).contiguous()
        return torch._standard_gamma(expanded, generator=generator).to(alpha.dtype)

    return sampler(ctx, draw)


@RANDOM_GAMMA.gradient
def random_gamma_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    """The derivative of each sample by alpha, by implicit reparametrisation."""
    partial = RANDOM_GAMMA_GRAD(op.inputs[1], op.outputs[0])
    return [None, reduce_sum(grad * partial, range_(size_of(op.inputs[0])))]


RANDOM_GAMMA_GRAD = define_op(
    "RandomGammaGrad",
    "alpha: T, sample: T",
    "output: T",
    attrs=["T: {float, double}"],
    shape=shape_rules.broadcast,
    work=SERIAL,
)
RANDOM_GAMMA_GRAD.not_differentiable()


@RANDOM_GAMMA_GRAD.kernel()
def random_gamma_grad_kernel(ctx: KernelContext) -> Kernel:
    def gradient(alpha: torch.Tensor, sample: torch.Tensor) -> torch.Tensor:
        return torch._standard_gamma_grad(*(t.contiguous() for t in torch.broadcast_tensors(alpha, sample)))

    return gradient


def _poisson_kernel(ctx: KernelContext) -> Kernel:
    generator, dtype = ctx.generator(), ctx.torch_dtype("dtype")

    def draw(size: tuple[int, ...], rate: torch.Tensor) -> torch.Tensor:
        return torch.poisson(rate.double().expand(*size, *rate.shape).contiguous(), generator=generator).to(dtype)

    return sampler(ctx, draw)


def _define_poisson(name: str, rate: str, attrs: list[str]) -> OpDef:
    op = define_op(
        name,
        f"shape: S, rate: {rate}",
        "output: dtype",
        attrs=[*SEEDS, "S: indextype", *attrs],
        stateful=True,
        work=SERIAL,
    )
    op.shape(_per_parameter_shape)
    op.kernel(host=("shape",))(_poisson_kernel)
    op.not_differentiable()
    return op


RANDOM_POISSON = _define_poisson("RandomPoisson", "dtype", ["dtype: {half, float, double}"])
RANDOM_POISSON_V2 = _define_poisson(
    "RandomPoissonV2",
    "R",
    ["R: {half, float, double, int32, int64} = double", "dtype: {half, float, double, int32, int64} = int64"],
)

# --- functions ------------------------------------------------------------------------------------------


def parameterized_truncated_normal(
    shape: Any,
    means: Any = 0.0,
    stddevs: Any = 1.0,
    minvals: Any = -2.0,
    maxvals: Any = 2.0,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normal numbers truncated to [minvals, maxvals], with scalar parameters or one for each row of the output."""
    with name_scope(name, "parameterized_truncated_normal", [shape, means, stddevs, minvals, maxvals]) as scope:
        size = shape_tensor(shape)
        given = (("means", means), ("stddevs", stddevs), ("minvals", minvals), ("maxvals", maxvals))
        params = [convert_to_tensor(value, dtype, name=key) for key, value in given]
        seed1, seed2 = get_seed(seed)
        return PARAMETERIZED_TRUNCATED_NORMAL(size, *params, seed=seed1, seed2=seed2, name=scope)


@export("random_gamma", "random.gamma")
def random_gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Gamma-distributed numbers, [*shape, *broadcast of alpha and beta]; `beta` is the inverse scale (1).

    Differentiable in both parameters. TF: tf.random_gamma.
    """
    with name_scope(name, "random_gamma", [shape, alpha, beta]):
        size = shape_tensor(shape)
        alpha = convert_to_tensor(alpha, dtype, name="alpha")
        beta = convert_to_tensor(1 if beta is None else beta, alpha.dtype, name="beta")
        both = ADD_V2(alpha, zeros_like(beta))
        seed1, seed2 = get_seed(seed)
        drawn = REAL_DIV(RANDOM_GAMMA(size, both, seed=seed1, seed2=seed2), beta, name="truediv")
        tiny = np.finfo(alpha.dtype.np).tiny  # rounding must not produce zero, whose logarithm is not finite
        return MAXIMUM(convert_to_tensor(tiny, alpha.dtype, name="tiny"), drawn)


@export("random_poisson", "random.poisson")
def random_poisson(
    lam: Any, shape: Any, dtype: Any = float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Poisson-distributed numbers, [*shape, *lam.shape], with the rates `lam` (TF: tf.random_poisson)."""
    with name_scope(name, "random_poisson", [lam, shape]):
        size = shape_tensor(shape)
        seed1, seed2 = get_seed(seed)
        return RANDOM_POISSON_V2(size, lam, dtype=dtype, seed=seed1, seed2=seed2)
