"""Variables that are kept in parts along one axis (TF: tf.PartitionedVariable, tf.create_partitioned_variables).

Each part is a variable, which may have its own device; checkpoints hold the whole under its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.graph.convert import register_tensor_conversion_function
from penstock.graph.graph import Graph
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.operators import Operators
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.ops.basic import identity
from penstock.ops.joining import split
from penstock.tensor.dtypes import DType, as_dtype
from penstock.tensor.shapes import TensorShape

MSG_SEVERAL_AXES = "Cannot slice {name}, of shape {shape}, along more than one dimension: {partitions}."


class PartitionInfo:
    """For the initializer of a part: the shape of the whole, and where the part begins."""

    def __init__(self, full_shape: Any, var_offset: Any) -> None:
        """Raises TypeError for what is not a sequence of numbers, ValueError for offsets outside the whole."""
        for name, given in (("full_shape", full_shape), ("var_offset", var_offset)):
            if isinstance(given, str) or not hasattr(given, "__iter__"):
                raise TypeError(f"{name} must be a sequence of integers, got {given!r}")
        self.full_shape, self.var_offset = list(full_shape), list(var_offset)
        if len(self.full_shape) != len(self.var_offset):
            raise ValueError(f"full_shape {full_shape} and var_offset {var_offset} must have the same length")
        if any(offset < 0 or offset >= size for offset, size in zip(self.var_offset, self.full_shape, strict=True)):
            raise ValueError(f"var_offset {var_offset} must lie inside full_shape {full_shape}")

    def single_slice_dim(self, shape: Any) -> int | None:
        """The one axis along which a part of `shape` is less than the whole; None if there is none.

        Raises TypeError for what is not a sequence, ValueError for several axes or a part that is not inside the whole.
        """
        if isinstance(shape, str) or not hasattr(shape, "__iter__"):
            raise TypeError(f"shape must be a sequence of integers, got {shape!r}")
        sizes = list(shape)
        if len(sizes) != len(self.full_shape):
            raise ValueError(f"Expected equal length, but received shape {sizes} of a part of {self.full_shape}")
        ends = [offset + size for offset, size in zip(self.var_offset, sizes, strict=True)]
        if any(end > size for end, size in zip(ends, self.full_shape, strict=True)):
            raise ValueError(f"A part of shape {sizes} at {self.var_offset} goes beyond the whole, {self.full_shape}")
        cut = [i for i, size in enumerate(sizes) if size < self.full_shape[i]]
        if len(cut) > 1:
            raise ValueError(
                f"Cannot use single_slice_dim with shape {sizes}: several axes of {self.full_shape} are cut"
            )
        return cut[0] if cut else None

    def single_offset(self, shape: Any) -> int:
        """Where a part of `shape` begins along the partitioned axis; 0 if there is none."""
        axis = self.single_slice_dim(shape)
        return 0 if axis is None else self.var_offset[axis]


class PartitionedVariable(Operators):
    """The parts of one variable, in order; used as a tensor, it is the whole variable."""

    def __init__(self, name: str, shape: Any, dtype: Any, variable_list: list[Any], partitions: list[int]) -> None:
        """`variable_list` may be in any order: the SaveSliceInfo of a part says where it belongs."""
        self._name = name
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype).base_dtype
        self._partitions = list(partitions)
        self._variables = _in_order(variable_list, self._shape, self._partitions)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        return self._shape

    def get_shape(self) -> TensorShape:
        return self._shape

    @property
    def graph(self) -> Graph:
        return self._variables[0].graph

    @property
    def op(self) -> Any:
        raise AttributeError(f"{self!r} has several parts, each with an op: iterate over it")

    @property
    def trainable(self) -> bool:
        return self._variables[0].trainable

    @property
    def _axis(self) -> int:
        """The axis that is partitioned."""
        return next((axis for axis, count in enumerate(self._partitions) if count > 1), 0)

    def _get_variable_list(self) -> list[Any]:
        return self._variables

    def _get_partitions(self) -> list[int]:
        return self._partitions

    def as_tensor(self) -> Tensor:
        """All parts as one tensor, which waits for nothing, like a variable's value."""
        with control_dependencies(None):
            whole = self._variables[0]
            if len(self._variables) > 1:
                with name_scope(f"{self._name}/ConcatPartitions/"):
                    whole = get_op("ConcatV2")([v.value() for v in self._variables], self._axis, name="concat")
            with name_scope(None):
                return identity(whole, name=self._name)

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Assign a whole value, or a list of values for the parts; returns the parts' assignments."""
        return self._each("assign", value, use_locking, name, read_value)

    def assign_add(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        return self._each("assign_add", value, use_locking, name, read_value)

    def assign_sub(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        return self._each("assign_sub", value, use_locking, name, read_value)

    def _each(self, what: str, value: Any, use_locking: bool, name: str | None, read_value: bool) -> list[Any]:
        if not isinstance(value, list | PartitionedVariable):
            sizes = [v.shape.as_list()[self._axis] for v in self._variables]
            value = split(value, sizes, self._axis) if len(sizes) > 1 else [value]
        pairs = zip(self._variables, value, strict=True)
        return [getattr(v, what)(part, use_locking, name, read_value) for v, part in pairs]

    def __repr__(self) -> str:
        return f"<tf.PartitionedVariable '{self._name}' shape={self._shape} parts={len(self._variables)}>"


def _in_order(variables: Any, shape: TensorShape, partitions: list[int]) -> list[Any]:
    """The parts ordered by their offsets. Raises ValueError if they are not the parts of one variable."""
    parts = list(variables)
    if not parts:
        raise ValueError("variable_list may not be empty")
    if any(count < 1 for count in partitions):
        raise ValueError(f"All partition counts must be positive: {partitions}")
    for part in parts:
        info = part._get_save_slice_info()
        if info is None:
            raise ValueError(f"All variables must have a save_slice_info, which tells the part; {part.name} has none")
        if list(info.full_shape) != shape.as_list():
            raise ValueError(f"All variables' full shapes must match {shape}; that of {part.name} is {info.full_shape}")
    return sorted(parts, key=lambda part: part._get_save_slice_info().var_offset)


def _convert(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    if as_ref or (dtype is not None and as_dtype(dtype).base_dtype != value.dtype):
        raise TypeError(f"{value!r} is {value.dtype.name}, and several references: not one of {dtype}")
    return value.as_tensor()


register_tensor_conversion_function(PartitionedVariable, _convert, 50)


def slices(name: str, shape: TensorShape, partitions: Any) -> list[tuple[list[int], list[int]]]:
    """`(offset, shape)` of each part; the first parts are larger by one if there is a remainder.

    partitions: the number of parts for each axis. Raises ValueError for a wrong number of axes, two partitioned axes,
    or more parts than elements.
    """
    full: Any = shape.as_list()
    counts = list(partitions) if isinstance(partitions, list | tuple) else None
    if counts is None or len(counts) != len(full) or min(counts) < 1:
        raise ValueError(f"A partitioner gives one positive number for each dim of {name}, {shape}; got {partitions!r}")
    cut = [axis for axis, count in enumerate(counts) if count > 1]
    if len(cut) > 1:
        raise ValueError(MSG_SEVERAL_AXES.format(name=name, shape=shape, partitions=counts))
    axis = cut[0] if cut else 0
    if cut and counts[axis] > full[axis]:
        raise ValueError(f"{name} of shape {shape} cannot be cut into {counts[axis]} parts along axis {axis}")
    each, rest = divmod(full[axis], counts[axis])
    found, at = [], 0
    for part in range(counts[axis]):
        size = each + (part < rest)
        offset, part_shape = [0] * len(full), list(full)
        offset[axis], part_shape[axis] = at, size
        found.append((offset, part_shape))
        at += size
    return found
