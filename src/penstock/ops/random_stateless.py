"""Random numbers that are a function of a seed (TF: tf.random.stateless_uniform, …): those of TensorFlow on CPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, OpDef, define_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.arithmetic import ADD_V2, MUL, SUB
from penstock.ops.kernel_tools import invalid
from penstock.ops.philox import normal, truncated_normal, uniform
from penstock.ops.random import (
    Draw,
    bounded,
    categorical_size,
    categories,
    drawn,
    multinomial_shape,
    sampler,
    shape_tensor,
)
from penstock.runtime.kernels import KernelContext
from penstock.runtime.philox import Stream, stream_of
from penstock.tensor.dtypes import as_dtype, float32, float64, int32, int64
from penstock.tensor.shapes import TensorShape

_FLOATS = ["dtype: floattype = float", "T: indextype = int32", "Tseed: indextype = int64"]
_HOST = ("shape", "seed", "minval", "maxval")


def _shape(c: ShapeContext, shape: TensorShape, seed: TensorShape, *bounds: TensorShape) -> TensorShape:
    seed.assert_is_compatible_with([2])
    for bound in bounds:
        bound.assert_has_rank(0)
    return c.constant_shape("shape")


def _stream(seed: torch.Tensor) -> Stream:
    if tuple(seed.shape) != (2,):
        raise invalid(f"seed must have shape [2], not {list(seed.shape)}")
    return stream_of(seed.numpy())


def _kernel(draw: Draw) -> Callable[[KernelContext], Kernel]:
    def kernel(ctx: KernelContext) -> Kernel:
        dtype, device = ctx["dtype"], ctx.device
        return sampler(ctx, lambda size, seed, *rest: drawn(draw, _stream(seed), size, dtype, *rest).to(device))

    return kernel


def _define(name: str, draw: Draw) -> OpDef:
    op = define_op(name, "shape: T, seed: Tseed", "output: dtype", attrs=_FLOATS, work=SERIAL)
    op.shape(_shape)
    op.kernel(host=("shape", "seed"))(_kernel(draw))
    op.not_differentiable()
    return op


STATELESS_RANDOM_UNIFORM = _define("StatelessRandomUniform", uniform)
STATELESS_RANDOM_NORMAL = _define("StatelessRandomNormal", normal)
STATELESS_TRUNCATED_NORMAL = _define("StatelessTruncatedNormal", truncated_normal)

STATELESS_RANDOM_UNIFORM_INT = define_op(
    "StatelessRandomUniformInt",
    "shape: T, seed: Tseed, minval: dtype, maxval: dtype",
    "output: dtype",
    attrs=["dtype: indextype", "T: indextype", "Tseed: indextype = int64"],
    work=SERIAL,
)
STATELESS_RANDOM_UNIFORM_INT.shape(_shape)
STATELESS_RANDOM_UNIFORM_INT.not_differentiable()


STATELESS_RANDOM_UNIFORM_INT.kernel(host=_HOST)(_kernel(bounded))

STATELESS_MULTINOMIAL = define_op(
    "StatelessMultinomial",
    "logits: T, num_samples: int32, seed: Tseed",
    "output: output_dtype",
    attrs=["T: realnumbertype", "Tseed: indextype = int64", "output_dtype: indextype = int64"],
    work=SERIAL,
)
STATELESS_MULTINOMIAL.not_differentiable()


@STATELESS_MULTINOMIAL.shape
def stateless_multinomial_shape(
    c: ShapeContext, logits: TensorShape, num_samples: TensorShape, seed: TensorShape
) -> TensorShape:
    seed.assert_is_compatible_with([2])
    return multinomial_shape(c, logits, num_samples)


@STATELESS_MULTINOMIAL.kernel(host=("num_samples", "seed"))
def stateless_multinomial_kernel(ctx: KernelContext) -> Kernel:
    """All rows take their numbers from one stream in turn, as in TensorFlow with one thread."""
    dtype = ctx.torch_dtype("output_dtype")

    def draw(logits: torch.Tensor, num_samples: torch.Tensor, seed: torch.Tensor) -> torch.Tensor:
        size = categorical_size(logits, num_samples)
        return categories(logits, drawn(uniform, _stream(seed), size, float64).to(logits.device), dtype)

    return draw


# --- functions ------------------------------------------------------------------------------------------


@export("contrib.stateless.stateless_random_uniform", "random.stateless_uniform")
def stateless_random_uniform(
    shape: Any, seed: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Uniform numbers in [minval, maxval) that `seed` [2] determines (TF: tf.random.stateless_uniform).

    `maxval` is 1 for floats and must be given for int32 and int64. The numbers are TensorFlow's. Raises ValueError for
    other dtypes.
    """
    dtype = as_dtype(dtype)
    if not (dtype.is_floating or dtype in (int32, int64)):
        raise ValueError(f"Argument `dtype` got invalid value {dtype.name}: use a float type, int32 or int64.")
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype.name}")
        maxval = 1
    with name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as scope:
        size = shape_tensor(shape)
        low, high = (convert_to_tensor(bound, dtype) for bound in (minval, maxval))
        if dtype.is_integer:
            return STATELESS_RANDOM_UNIFORM_INT(size, seed, low, high, name=scope)
        drawn = STATELESS_RANDOM_UNIFORM(size, seed, dtype=dtype)
        return ADD_V2(MUL(drawn, SUB(high, low)), low, name=scope)


def _scaled(op: OpDef, shape: Any, seed: Any, mean: Any, stddev: Any, dtype: Any, name: str | None) -> Tensor:
    default = {STATELESS_RANDOM_NORMAL: "stateless_random_normal"}.get(op, "stateless_truncated_normal")
    with name_scope(name, default, [shape, seed, mean, stddev]) as scope:
        drawn = op(shape_tensor(shape), seed, dtype=as_dtype(dtype))
        scale, shift = (convert_to_tensor(value, dtype) for value in (stddev, mean))
        return ADD_V2(MUL(drawn, scale), shift, name=scope)


@export("contrib.stateless.stateless_random_normal", "random.stateless_normal")
def stateless_random_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Normal numbers that `seed` [2] determines, those of TensorFlow (TF: tf.random.stateless_normal)."""
    return _scaled(STATELESS_RANDOM_NORMAL, shape, seed, mean, stddev, dtype, name)


@export("contrib.stateless.stateless_truncated_normal", "random.stateless_truncated_normal")
def stateless_truncated_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Normal numbers up to two deviations from the mean, which `seed` [2] determines, those of TensorFlow (TF:
    tf.random.stateless_truncated_normal)."""
    return _scaled(STATELESS_TRUNCATED_NORMAL, shape, seed, mean, stddev, dtype, name)


@export("random.stateless_categorical")
def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = int64, name: str | None = None
) -> Tensor:
    """`stateless_multinomial` (TF: tf.random.stateless_categorical)."""
    return stateless_multinomial(logits, num_samples, seed, dtype, name)


@export("contrib.stateless.stateless_multinomial", "random.stateless_multinomial")
def stateless_multinomial(
    logits: Any, num_samples: Any, seed: Any, output_dtype: Any = int64, name: str | None = None
) -> Tensor:
    """`num_samples` classes for each row of `logits` [batch, classes] (unnormalised log-probabilities), which `seed`
    [2] determines: [batch, num_samples]. TF: tf.random.stateless_multinomial."""
    return STATELESS_MULTINOMIAL(
        convert_to_tensor(logits, name="logits"), num_samples, seed, output_dtype=as_dtype(output_dtype), name=name
    )
