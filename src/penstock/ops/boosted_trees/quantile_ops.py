"""Ops that find boundaries for buckets of numbers from their quantiles (TF: quantile_ops)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock.graph import shape_rules
from penstock.graph.opdef import Kernel
from penstock.graph.shape_context import ShapeContext
from penstock.ops.boosted_trees.quantiles import Stream, Streams
from penstock.ops.boosted_trees.resources import STREAMS as STREAMS, define
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

_HANDLE = "quantile_stream_resource_handle: resource"
_FEATURES = ("num_features: int >= 0",)


def _tensors(arrays: Any) -> tuple[torch.Tensor, ...]:
    return tuple(torch.from_numpy(np.array(array)) for array in arrays)


def _is_created(ctx: KernelContext) -> Kernel:
    return lambda streams: torch.tensor(streams.boundaries is not None)


def _create(ctx: KernelContext) -> Kernel:
    most = ctx["max_elements"]

    def create(streams: Streams, epsilon: Any, num_streams: Any) -> None:
        if float(epsilon) <= 0:
            raise invalid("An epsilon value of zero is not allowed.")
        streams.create(float(epsilon), most, int(num_streams))

    return create


def _summarise(ctx: KernelContext) -> Kernel:
    def summarise(values: list[Any], example_weights: Any, epsilon: Any) -> tuple[torch.Tensor, ...]:
        numbers = [value.numpy().reshape(-1) for value in values]
        weights = example_weights.numpy().reshape(-1)
        batch = len(numbers[0])
        if len(weights) not in (1, batch):
            raise invalid("Weights should be a single value or same size as features.")
        weights = np.broadcast_to(weights, [batch])
        found = []
        for each in numbers:
            stream = Stream(float(epsilon), batch + 1)
            stream.push(each, weights)
            found.append(stream.summary().rows())
        return _tensors(found)

    return summarise


def _add(ctx: KernelContext) -> Kernel:
    def add(streams: Streams, summaries: list[Any]) -> None:
        if len(summaries) != len(streams.read_boundaries()):
            raise invalid(f"Expected {len(streams.read_boundaries())} summaries, got {len(summaries)}")
        streams.add([summary.numpy().copy() for summary in summaries])

    return add


def _flush(ctx: KernelContext) -> Kernel:
    quantiles = ctx["generate_quantiles"]

    def flush(streams: Streams, num_buckets: Any) -> None:
        count = int(num_buckets)
        with streams.lock:
            found = streams.flush()
            made = [each.quantiles(count - 1) if quantiles else each.boundaries(count) for each in found]
            streams.boundaries = made

    return flush


def _flush_summaries(ctx: KernelContext) -> Kernel:
    return lambda streams: _tensors(summary.rows() for summary in streams.flush())


def _restore(ctx: KernelContext) -> Kernel:
    def restore(streams: Streams, boundaries: list[Any]) -> None:
        with streams.lock:
            streams.read_boundaries()[:] = [each.numpy().copy() for each in boundaries]

    return restore


def _boundaries(ctx: KernelContext) -> Kernel:
    def boundaries(streams: Streams) -> tuple[torch.Tensor, ...]:
        with streams.lock:
            return _tensors(streams.read_boundaries())

    return boundaries


def _bucketize(ctx: KernelContext) -> Kernel:
    def bucketize(values: list[Any], boundaries: list[Any]) -> tuple[torch.Tensor, ...]:
        return _tensors(map(_buckets, values, boundaries))

    return bucketize


def _buckets(values: Any, boundaries: Any) -> np.ndarray:
    """The first boundary that is not less than each value; the last one for those above it."""
    numbers, limits = values.numpy(), boundaries.numpy()
    found = np.searchsorted(limits, numbers).clip(0, max(len(limits) - 1, 0))
    found[np.isnan(numbers)] = 0  # no boundary is less than it
    return found.astype(np.int32)


def _summaries_shape(c: ShapeContext, *_: Any) -> list[TensorShape]:
    return [TensorShape([None, 4])] * c.attrs["num_features"]


def _boundaries_shape(c: ShapeContext, *_: Any) -> list[TensorShape]:
    return [TensorShape([None])] * c.attrs["num_features"]


def _buckets_shape(c: ShapeContext, values: list[TensorShape], boundaries: list[TensorShape]) -> list[TensorShape]:
    for shape in values:
        shape.with_rank(1).assert_is_compatible_with(values[0])
    return values


IS_CREATED = define(
    "IsBoostedTreesQuantileStreamResourceInitialized",
    _HANDLE,
    "is_initialized: bool",
    _is_created,
    shape_rules.scalar,
    sets_up=True,
    reads="quantile_stream_resource_handle",
)
CREATE = define(
    "BoostedTreesCreateQuantileStreamResource",
    f"{_HANDLE}, epsilon: float, num_streams: int64",
    "",
    _create,
    attrs=("max_elements: int = 1099511627776",),
    sets_up=True,
)
MAKE_SUMMARIES = define(
    "BoostedTreesMakeQuantileSummaries",
    "float_values: num_features * float, example_weights: float, epsilon: float",
    "summaries: num_features * float",
    _summarise,
    _summaries_shape,
    _FEATURES,
)
ADD_SUMMARIES = define(
    "BoostedTreesQuantileStreamResourceAddSummaries",
    f"{_HANDLE}, summaries: num_features * float",
    "",
    _add,
    attrs=_FEATURES,
)
FLUSH = define(
    "BoostedTreesQuantileStreamResourceFlush",
    f"{_HANDLE}, num_buckets: int64",
    "",
    _flush,
    attrs=("generate_quantiles: bool = false",),
)
FLUSH_SUMMARIES = define(
    "BoostedTreesFlushQuantileSummaries",
    _HANDLE,
    "summaries: num_features * float",
    _flush_summaries,
    _summaries_shape,
    _FEATURES,
)
DESERIALIZE = define(
    "BoostedTreesQuantileStreamResourceDeserialize",
    f"{_HANDLE}, bucket_boundaries: num_streams * float",
    "",
    _restore,
    attrs=("num_streams: int >= 1",),
    sets_up=True,
)
GET_BOUNDARIES = define(
    "BoostedTreesQuantileStreamResourceGetBucketBoundaries",
    _HANDLE,
    "bucket_boundaries: num_features * float",
    _boundaries,
    _boundaries_shape,
    _FEATURES,
    reads="quantile_stream_resource_handle",
)
BUCKETIZE = define(
    "BoostedTreesBucketize",
    "float_values: num_features * float, bucket_boundaries: num_features * float",
    "buckets: num_features * int32",
    _bucketize,
    _buckets_shape,
    _FEATURES,
)
