"""Functions that determine the number of parts of a variable (TF: tf.fixed_size_partitioner, …).

A partitioner is called as `partitioner(shape=…, dtype=…)` and returns the number of parts for each axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from penstock.client.partitioned_variable import PartitionedVariable
from penstock.client.variable_scope import get_variable_scope, variable_scope
from penstock.client.variable_store import get_variable_store
from penstock.export import export
from penstock.graph.scopes import name_scope
from penstock.tensor.dtypes import as_dtype, float32, string
from penstock.tensor.shapes import TensorShape

Partitioner = Callable[..., list[int]]


def _along(axis: int, shape: Any, parts: int) -> list[int]:
    counts = [1] * len(TensorShape(shape).as_list())
    counts[axis] = parts
    return counts


@export("fixed_size_partitioner")
def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Splits `axis` into `num_shards` parts, or as many as its size allows (TF: tf.fixed_size_partitioner)."""

    def partitioner(shape: Any, **_: Any) -> list[int]:
        return _along(axis, shape, min(num_shards, TensorShape(shape).as_list()[axis] or 1))

    return partitioner


@export("variable_axis_size_partitioner")
def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> Partitioner:
    """Splits `axis` into as few parts of at most `max_shard_bytes` each as possible, but at most `max_shards`.

    A part has at least one slice along the axis. Raises ValueError for limits below 1. TF:
    tf.variable_axis_size_partitioner.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1 or (max_shards is not None and max_shards < 1):
        raise ValueError(
            f"max_shard_bytes, bytes_per_string_element and max_shards must be positive, got {max_shard_bytes}, "
            f"{bytes_per_string_element} and {max_shards}"
        )

    def partitioner(shape: Any, dtype: Any = float32, **_: Any) -> list[int]:
        shape = TensorShape(shape)
        size = shape.as_list()[axis] or 1
        slice_bytes = _bytes(shape, dtype, bytes_per_string_element) / size
        parts = math.ceil(size / max(1, int(max_shard_bytes // slice_bytes)))
        return _along(axis, shape, parts if max_shards is None else min(max_shards, parts))

    return partitioner


@export("min_max_variable_partitioner")
def min_max_variable_partitioner(
    max_partitions: int = 1, axis: int = 0, min_slice_size: int = 256 << 10, bytes_per_string_element: int = 16
) -> Partitioner:
    """Splits `axis` into at most `max_partitions` parts of roughly at least `min_slice_size` bytes each.

    Raises ValueError for numbers below 1. TF: tf.min_max_variable_partitioner.
    """
    if max_partitions < 1 or min_slice_size < 1:
        raise ValueError(f"max_partitions and min_slice_size must be positive, got {max_partitions}, {min_slice_size}")

    def partitioner(shape: Any, dtype: Any = float32, **_: Any) -> list[int]:
        shape = TensorShape(shape)
        wanted = max(1, math.ceil(_bytes(shape, dtype, bytes_per_string_element) / min_slice_size))
        return _along(axis, shape, min(max_partitions, wanted, shape.as_list()[axis] or 1))

    return partitioner


def _bytes(shape: TensorShape, dtype: Any, bytes_per_string: int) -> int:
    dtype = as_dtype(dtype)
    return (shape.num_elements() or 1) * (bytes_per_string if dtype.base_dtype == string else dtype.size)


@export("create_partitioned_variables")
def create_partitioned_variables(
    shape: Any,
    slicing: list[int],
    initializer: Any,
    dtype: Any = float32,
    trainable: bool = True,
    collections: Any = None,
    name: str | None = None,
    reuse: Any = None,
) -> list[Any]:
    """The parts of a new variable; `slicing` has the number of parts for each axis.

    name: "PartitionedVariable" by default; parts are name/part_0 and so on. Raises ValueError for a slicing that does
    not fit. TF: tf.create_partitioned_variables.
    """
    if len(slicing) != len(TensorShape(shape).as_list()):
        raise ValueError(f"The slicing {slicing} must have one number for each dim of the shape {shape}")
    with variable_scope(name, "PartitionedVariable", reuse=reuse), name_scope(None):
        scope = get_variable_scope()
        found = get_variable_store().get_variable(
            scope.name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            reuse=scope.reuse,
            trainable=trainable,
            collections=collections,
            partitioner=lambda **_: slicing,
        )
        return list(found) if isinstance(found, PartitionedVariable) else [found]
