"""The TensorArrays of loops, which live for one step, as stacks do (`stacks.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.runtime.failures import invalid
from penstock.tensor.dtypes import DType, opdef_name
from penstock.tensor.shapes import TensorShape, shape_of


class TensorArrayState:
    """Tensors by index, each written once; a gradient array adds up what is written to one index.

    element_shape: what is known about the shapes of all elements; `identical` ones take that of the first written. With
    `clear_after_read`, an element can be read once and is then freed. An element that was never written reads as zeros
    if its shape is known.
    """

    __slots__ = (
        "_exact", "_gradients", "_like", "_prepended", "_read", "_shapes", "aggregates", "clear_after_read",
        "closed", "device", "dtype", "dynamic", "element_shape", "identical", "name", "values",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        dtype: DType,
        size: int,
        element_shape: TensorShape = TensorShape(None),  # noqa: B008 (shapes do not change)
        dynamic: bool = False,
        clear_after_read: bool = True,
        identical: bool = False,
        device: torch.device | None = None,
    ) -> None:
        if size < 0:
            raise invalid(f"Size should be >= 0, but TensorArray {name} was given {size}.")
        self.name, self.dtype, self.device = name, dtype, device
        self.dynamic, self.clear_after_read, self.identical = dynamic, clear_after_read, identical
        self.aggregates = self.closed = False
        self.values: list[Any] = [None] * size
        self._shapes: list[tuple[int, ...] | None] = [None] * size
        self._read = [False] * size
        self._gradients: dict[tuple[str, tuple[int, ...]], TensorArrayState] = {}
        self._like: TensorArrayState | None = None
        self._prepended: tuple[int, ...] = ()
        self.element_shape = element_shape
        self._exact: Any = element_shape.tuple if element_shape.is_fully_defined() else None
        """The shape that every element must have, if it is known."""

    def gradient(self, source: str, prepended: tuple[int, ...] = ()) -> TensorArrayState:
        """The array of this one's gradients that belongs to `source`, created on first use.

        It has this array's size, which is fixed from then on. `prepended` sizes come before the elements'.
        """
        self.check_open()
        found = self._gradients.get((source, prepended))
        if found is None:
            shape = TensorShape(prepended).concatenate(self.element_shape)
            # Each of the values added to one element has the same gradient to read.
            name, size, once = f"{self.name}@{source}", len(self.values), not self.aggregates
            found = TensorArrayState(name, self.dtype, size, shape, clear_after_read=once, device=self.device)
            found.aggregates, found._like, found._prepended = True, self, prepended
            found._exact = None if self._exact is None else prepended + tuple(self._exact)
            self._gradients[source, prepended] = found
            self.dynamic = False
        return found

    def shape_at(self, index: int) -> tuple[int, ...] | None:
        """The shape of the element at `index`, if it is known."""
        found = self._shapes[index]
        if found is None:
            found = self._exact
        if found is None and self._like is not None:
            like = self._like.shape_at(index)
            found = None if like is None else self._prepended + like
        return found

    # --- one element ----------------------------------------------------------------------------------

    def write(self, index: int, value: Any) -> None:
        """Keep `value` at `index`; a dynamic array grows. Raises InvalidArgumentError if that is not possible."""
        if not 0 <= index < len(self.values):
            self._grow(index)
        shape = value.shape
        if shape != self._exact:
            self._check_shape(index, tuple(shape))
            self._shapes[index] = shape
        if self._read[index]:
            raise self._cannot_write(index, "it has already been read.")
        before = self.values[index]
        if before is None:
            self.values[index] = value
        elif self.aggregates:
            self.values[index] = before + value
        else:
            raise self._cannot_write(index, "it has already been written to.")

    def read(self, index: int) -> Any:
        """The element at `index`. Raises InvalidArgumentError if there is none."""
        if not 0 <= index < len(self.values):
            self.check_open()
            raise invalid(f"Tried to read from index {index} but array size is: {len(self.values)}")
        value = self.values[index]
        if value is None:
            value = self._unwritten(index)
        self._read[index] = True
        if self.clear_after_read:
            self.values[index] = None
        return value

    def _grow(self, index: int) -> None:
        self.check_open()
        if index < 0 or not self.dynamic:
            raise invalid(
                f"TensorArray {self.name}: Tried to write to index {index} but array is not resizeable and "
                f"size is: {len(self.values)}"
            )
        more = index + 1 - len(self.values)
        self.values += [None] * more
        self._shapes += [None] * more
        self._read += [False] * more

    def _check_shape(self, index: int, shape: tuple[int, ...]) -> None:
        if self.aggregates:
            known = self.shape_at(index)
            if known is not None and known != shape:
                raise invalid(
                    f"TensorArray {self.name}: Could not aggregate to TensorArray index {index} because the "
                    f"existing shape is {list(known)} but the new input shape is {list(shape)}."
                )
        if not _fits(shape, self.element_shape):
            inferred = shape_text(self.element_shape)
            raise self._cannot_write(
                index,
                f"the value shape is {list(shape)} which is incompatible with the TensorArray's inferred "
                f"element shape: {inferred} (consider setting infer_shape=False).",
            )
        if self.identical:
            self.element_shape, self._exact = shape_of(shape), shape

    def _unwritten(self, index: int) -> Any:
        if self._read[index] and self.clear_after_read:
            raise invalid(
                f"TensorArray {self.name}: Could not read index {index} twice because it was cleared after a "
                "previous read (perhaps try setting clear_after_read = false?)."
            )
        shape = self.shape_at(index)
        if shape is None:
            known = shape_text(self.element_shape)
            raise invalid(
                f"TensorArray {self.name}: Could not read from TensorArray index {index}: nothing was "
                f"written there, and the element shape {known} is not fully defined, so it cannot be "
                "zeros either. Give the forward TensorArray its full element_shape to have zeros."
            )
        return self._zeros(shape)

    def _zeros(self, shape: tuple[int, ...]) -> torch.Tensor:
        if self.dtype.torch is None:
            raise invalid(f"TensorArray {self.name}: there are no zeros of type {self.dtype.name}")
        return torch.zeros(shape, dtype=self.dtype.torch, device=self.device)

    # --- many -----------------------------------------------------------------------------------------

    def scatter(self, indices: list[int], value: Any) -> None:
        """Row i of `value` goes to the index `indices[i]`."""
        self.check_open()
        if not value.ndim or value.shape[0] != len(indices):
            saw = f"{len(indices)} vs. {value.shape[0]}" if value.ndim else "a scalar"
            raise invalid(f"Expected len(indices) == values.shape[0], but saw: {saw}")
        if indices and not self.dynamic and max(indices) >= len(self.values):
            raise invalid(f"Max scatter index must be < array size ({max(indices)} vs. {len(self.values)})")
        rows = value.unbind(0) if isinstance(value, torch.Tensor) else [np.asarray(row, object) for row in value]
        for index, row in zip(indices, rows, strict=True):
            self.write(index, row)

    def split(self, value: Any, lengths: list[int]) -> None:
        """Part i of `value`, along its first dimension, of `lengths[i]` rows, goes to index i."""
        self.check_open()
        if not isinstance(lengths, list):
            raise invalid("Expected lengths to be a vector, received shape: []")
        if not value.ndim:
            raise invalid("Expected value to be at least a vector, but received shape: []")
        if any(length < 0 for length in lengths):
            raise invalid(f"Expected lengths of at least 0, but they are {lengths}")
        if sum(lengths) != value.shape[0]:
            raise invalid(
                "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                f"{sum(lengths)} and value's shape is: {list(value.shape)}"
            )
        if len(lengths) != len(self.values) and not (self.dynamic and len(lengths) > len(self.values)):
            raise invalid(
                f"TensorArray's size is not equal to the size of lengths ({len(self.values)} vs. "
                f"{len(lengths)}), and the TensorArray is not marked as dynamically resizeable"
            )
        if isinstance(value, torch.Tensor):
            parts = value.split(lengths) if lengths else ()
        else:
            parts = np.split(value, np.cumsum(lengths)[:-1])
        for index, part in enumerate(parts[: len(lengths)]):
            self.write(index, part)

    def gather(self, indices: list[int], element_shape: TensorShape) -> Any:
        """The elements at `indices`, stacked in a new tensor. All must have the same shape."""
        self.check_open()
        if not indices:
            shape = self.element_shape.merge_with(element_shape)
            if not shape.is_fully_defined():
                raise _nothing("element shape", shape, "packing")
            return self._empty((0, *shape.tuple))
        values = [self.read(index) for index in indices]
        first = values[0].shape
        if not _fits(first, element_shape):
            raise invalid(
                f"TensorArray was passed element_shape {shape_text(element_shape)} which does not match the "
                f"Tensor at index 0: {list(first)}"
            )
        for i, value in enumerate(values if self._exact is None else ()):  # otherwise all have that shape
            if value.shape != first:
                raise invalid(
                    "TensorArray has inconsistent shapes.  Index 0 has shape: "
                    f"{list(first)} but index {i} has shape: {list(value.shape)}"
                )
        return np.stack(values) if isinstance(values[0], np.ndarray) else torch.stack(values)

    def concat(self, except0: TensorShape) -> tuple[Any, list[int]]:
        """All elements, joined along their first dimension, and the length of each in it."""
        self.check_open()
        if not self.values:
            shape = self.element_shape.with_rank_at_least(1)[1:].merge_with(except0)
            if not shape.is_fully_defined():
                raise _nothing("element_shape_except0", shape, "concatenating")
            return self._empty((0, *shape.tuple)), []
        values = [self.read(index) for index in range(len(self.values))]
        for i, value in enumerate(values):
            if not value.ndim:
                raise invalid(
                    f"Concat saw a scalar shape at index {i} but requires at least vectors.  "
                    "Did you mean to call stack?"
                )
            if value.shape[1:] != values[0].shape[1:]:
                raise invalid(
                    "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: "
                    f"{list(values[0].shape[1:])} but index {i} has (excepting dimension 0) shape: "
                    f"{list(value.shape[1:])}"
                )
        joined = np.concatenate(values) if isinstance(values[0], np.ndarray) else torch.cat(values)
        return joined, [value.shape[0] for value in values]

    def _empty(self, shape: tuple[int, ...]) -> Any:
        return np.empty(shape, object) if self.dtype.torch is None else self._zeros(shape)

    # --- the whole ------------------------------------------------------------------------------------

    def size(self) -> int:
        self.check_open()
        return len(self.values)

    def close(self) -> None:
        """Discard all elements; any later use is an error."""
        self.closed, self.dynamic = True, False
        self.values, self._shapes, self._read = [], [], []

    def check_open(self) -> None:
        if self.closed:
            raise invalid(f"TensorArray {self.name} has already been closed.")

    def wrong_dtype(self, doing: str, dtype: DType) -> errors.InvalidArgumentError:
        return invalid(f"TensorArray dtype is {opdef_name(self.dtype)} but Op {doing} dtype {opdef_name(dtype)}.")

    def _cannot_write(self, index: int, reason: str) -> errors.InvalidArgumentError:
        return invalid(f"TensorArray {self.name}: Could not write to TensorArray index {index} because {reason}")


def _fits(shape: tuple[int, ...], known: TensorShape) -> bool:
    """Whether a value of this shape agrees with what is known about it."""
    dims = known.tuple
    if dims is None or dims == shape:
        return True
    return len(dims) == len(shape) and all(d is None or d == s for d, s in zip(dims, shape, strict=True))


def shape_text(shape: TensorShape) -> str:
    """A shape as kernels write it: `[?,3]`."""
    dims = shape.tuple
    return "<unknown>" if dims is None else f"[{','.join('?' if d is None else str(d) for d in dims)}]"


def _nothing(what: str, shape: TensorShape, doing: str) -> errors.UnimplementedError:
    return errors.UnimplementedError(
        None,
        None,
        f"TensorArray has size zero, but {what} {shape_text(shape)} is not fully defined. Currently only "
        f"static shapes are supported when {doing} zero-size TensorArrays.",
    )
