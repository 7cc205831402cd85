"""The stateless random ops of TensorFlow 2, which take a key and a counter: StatelessRandomUniformV2, ….

Exported graphs have them for tf.random.stateless_uniform and for Keras's layers that draw. `alg` is 1 for Philox, or 3
for the device's own, which is Philox on CPUs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock.graph import shape_rules
from penstock.graph.opdef import Kernel, OpDef, define_op
from penstock.graph.shape_context import SCALAR, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.kernel_tools import invalid, via_numpy
from penstock.ops.philox import longs, normal, truncated_normal, uniform
from penstock.ops.random import Draw, bounded, drawn, sampler
from penstock.runtime.kernels import KernelContext
from penstock.runtime.philox import Stream, stream_of
from penstock.tensor.dtypes import DType, uint64
from penstock.tensor.shapes import TensorShape

_PHILOX, _AUTO = 1, 3
_FLOATS = ["dtype: {half, bfloat16, float, double} = float", "Tshape: indextype = int32"]
_INTS = ["dtype: {int32, int64, uint32, uint64}", "Tshape: indextype = int32"]
_FULL = ["dtype: {int32, int64, uint32, uint64} = uint64", "Tshape: indextype = int32"]
_STREAM = "shape: Tshape, key: uint64, counter: uint64, alg: int32"

# --- keys and counters ----------------------------------------------------------------------------------

_SEED = ["Tseed: indextype = int64"]
GET_KEY_COUNTER = define_op(
    "StatelessRandomGetKeyCounter", "seed: Tseed", "key: uint64, counter: uint64", attrs=_SEED, work=SERIAL
)
GET_KEY_COUNTER_ALG = define_op(
    "StatelessRandomGetKeyCounterAlg",
    "seed: Tseed",
    "key: uint64, counter: uint64, alg: int32",
    attrs=_SEED,
    work=SERIAL,
)
GET_ALG = define_op("StatelessRandomGetAlg", "", "alg: int32", stateful=True, shape=shape_rules.scalar, work=SERIAL)
for _op in (GET_KEY_COUNTER, GET_KEY_COUNTER_ALG, GET_ALG):
    _op.not_differentiable()


def _seed_shape(c: ShapeContext, seed: TensorShape) -> list[TensorShape]:
    seed.assert_is_compatible_with([2])
    return [TensorShape([1]), TensorShape([2]), SCALAR][: len(c.op._outputs)]


def _pairs(words: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(words, np.uint32).view(np.uint64)


def _key_counter(seed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if seed.shape != (2,):
        raise invalid(f"seed must have shape [2], not {list(seed.shape)}")
    stream = stream_of(seed)
    return _pairs(stream.key), np.concatenate([np.zeros(1, np.uint64), _pairs(stream.upper)])


GET_KEY_COUNTER.shape(_seed_shape)
GET_KEY_COUNTER_ALG.shape(_seed_shape)


@GET_KEY_COUNTER.kernel(host=["seed"])
def get_key_counter_kernel(ctx: KernelContext) -> Kernel:
    return _on(ctx, via_numpy(_key_counter, uint64, uint64))


@GET_KEY_COUNTER_ALG.kernel(host=["seed"])
def get_key_counter_alg_kernel(ctx: KernelContext) -> Kernel:
    kernel = _on(ctx, via_numpy(_key_counter, uint64, uint64))
    return lambda seed: (*kernel(seed), torch.tensor(_PHILOX, dtype=torch.int32))


@GET_ALG.kernel()
def get_alg_kernel(ctx: KernelContext) -> Kernel:
    return lambda: torch.tensor(_PHILOX, dtype=torch.int32)


def _on(ctx: KernelContext, kernel: Kernel) -> Kernel:
    device = ctx.device
    return lambda *values: tuple([value.to(device) for value in kernel(*values)])


# --- draws ----------------------------------------------------------------------------------------------


def _shape(
    c: ShapeContext, shape: TensorShape, key: TensorShape, counter: TensorShape, alg: TensorShape, *bounds: TensorShape
) -> TensorShape:
    key.assert_is_compatible_with([1])
    counter.assert_has_rank(1)
    for scalar in (alg, *bounds):
        scalar.assert_has_rank(0)
    return c.constant_shape("shape")


def _stream(key: torch.Tensor, counter: torch.Tensor, alg: torch.Tensor) -> Stream:
    if int(alg) not in (_PHILOX, _AUTO):
        raise invalid(f"Only Philox (alg 1, or 3) draws here, not alg {int(alg)}")
    if tuple(key.shape) != (1,) or len(counter) < 2:
        raise invalid(f"key must have shape [1] and counter [2], not {list(key.shape)} and {list(counter.shape)}")
    start, upper = counter.numpy()[:2]
    return Stream(key.numpy().view(np.uint32), np.array([upper]).view(np.uint32), int(start))


def full_int(stream: Stream, count: int, dtype: DType) -> np.ndarray:
    """All numbers of an integer type."""
    wide = dtype.size == 8
    words = stream.first(count * 2 if wide else count)
    return (longs(words.reshape(-1, 2)) if wide else words).view(dtype.np)


def _define(name: str, draw: Draw, attrs: list[str], bounds: str = "") -> OpDef:
    op = define_op(name, _STREAM + bounds, "output: dtype", attrs=attrs, work=SERIAL)

    def kernel(ctx: KernelContext) -> Kernel:
        dtype, device = ctx["dtype"], ctx.device

        def one(size: tuple[int, ...], key: Any, counter: Any, alg: Any, *rest: Any) -> torch.Tensor:
            return drawn(draw, _stream(key, counter, alg), size, dtype, *rest).to(device)

        return sampler(ctx, one)

    op.shape(_shape)
    op.kernel(host=[arg.name for arg in op.inputs])(kernel)
    op.not_differentiable()
    return op


_define("StatelessRandomUniformV2", uniform, _FLOATS)
_define("StatelessRandomNormalV2", normal, _FLOATS)
_define("StatelessTruncatedNormalV2", truncated_normal, _FLOATS)
_define("StatelessRandomUniformIntV2", bounded, _INTS, ", minval: dtype, maxval: dtype")
_define("StatelessRandomUniformFullIntV2", full_int, _FULL)
