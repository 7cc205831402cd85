"""The value of a TensorList (dtype variant): an immutable list of tensors, made anew by each change; and `ListArray`,
which is changed in place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.tensor.dtypes import DType, string, variant
from penstock.tensor.shapes import TensorShape

Dims = tuple[int | None, ...] | None
"""A shape of which dimensions, or all, may be unknown."""
Element = Any
"""A tensor; a tuple of sizes for zeros of that shape; None for what has not been set."""


@dataclass(frozen=True, slots=True, eq=False)
class TensorList:
    """`elements` of one dtype, whose shapes all fit `shape`. Changes share the elements, not the list of them."""

    dtype: DType
    shape: Dims
    elements: Sequence[Element] = ()

    def get(self, index: int, shape: Dims = None) -> Any:
        """The element; zeros if it has not been set. Raises InvalidArgumentError outside the list."""
        element = self.elements[self.place(index)]
        return self.zeros(self.sizes(shape) if element is None else element) if _is_empty(element) else element

    def with_element(self, index: int, element: Element, resize: bool = False) -> TensorList:
        elements = list(self.elements)
        if resize and index >= len(elements):
            elements += [None] * (index + 1 - len(elements))
        else:
            self.place(index)
        elements[index] = self.fitting(element)
        return replace(self, elements=tuple(elements))

    def pushed(self, element: Element) -> TensorList:
        return replace(self, elements=(*self.elements, self.fitting(element)))

    def resized(self, size: int) -> TensorList:
        if size < 0:
            raise invalid(f"TensorListSlice expects size to be non-negative. Got: {size}")
        missing = (None,) * (size - len(self.elements))
        return replace(self, elements=(*self.elements[:size], *missing))

    def gather(self, indices: Iterable[int], shape: Dims = None) -> Any:
        """These elements as one tensor."""
        rows = [self.get(index, shape) for index in indices]
        if not rows:
            return self.zeros((0, *self.sizes(shape)))
        return np.stack(rows) if isinstance(rows[0], np.ndarray) else torch.stack(rows)

    def sizes(self, shape: Dims = None) -> tuple[int, ...]:
        """The shape of the elements: what `shape`, the list and its elements say together."""
        found = merged(shape, self.shape)
        if found is None or None in found:
            for element in self.elements:
                if element is not None:
                    found = merged(found, tuple(element if isinstance(element, tuple) else element.shape))
        if found is None or None in found:
            raise invalid(
                f"A list has elements that were not set, and their shape {list(found) if found else '<unknown>'} is "
                "not fully known."
            )
        return tuple(int(size) for size in found if size is not None)

    def zeros(self, sizes: Sequence[int]) -> Any:
        if self.dtype == string:
            return np.full(tuple(sizes), b"", object)
        return torch.zeros(tuple(sizes), dtype=self.dtype.torch)

    def zeros_like(self) -> TensorList:
        """As many elements, all zero; no memory is taken for them, but for lists in this one."""
        return replace(self, elements=tuple([e if _is_empty(e) else self._zero(e) for e in self.elements]))

    def _zero(self, element: Any) -> Element:
        return zeros_like_variant(element) if self.dtype == variant else tuple(element.shape)

    def plus(self, other: TensorList) -> TensorList:
        if len(self.elements) != len(other.elements):
            raise invalid(
                f"Trying to add two lists of tensors of different lengths: {len(self.elements)} and "
                f"{len(other.elements)}"
            )
        added = [_sum(a, b) for a, b in zip(self.elements, other.elements, strict=True)]
        return replace(self, shape=merged(self.shape, other.shape), elements=tuple(added))

    def place(self, index: int) -> int:
        if not 0 <= index < len(self.elements):
            raise invalid(f"Trying to access element {index} in a list with {len(self.elements)} elements.")
        return index

    def fitting(self, element: Element) -> Element:
        if self.shape is not None and not _is_empty(element):
            merged(self.shape, tuple(element.shape))
        return element


class ListArray:
    """A list that only one op after the other uses, each after the change before it, with the methods that ops on
    TensorArrays call (`tensor_arrays.py`)."""

    __slots__ = ("_elements", "_list", "dtype")

    def __init__(self, dtype: DType, shape: Dims, size: int) -> None:
        self.dtype = dtype
        self._elements = list(TensorList(dtype, shape).resized(size).elements)
        self._list = TensorList(dtype, shape, self._elements)

    def write(self, index: int, value: Any) -> None:
        """Keep `value` at `index`. Raises InvalidArgumentError outside the list, or if it does not fit its shape."""
        self._elements[self._list.place(index)] = self._list.fitting(value)

    def read(self, index: int) -> Any:
        return self._list.get(index)

    def gather(self, indices: list[int], element_shape: TensorShape) -> Any:
        return self._list.gather(indices, element_shape.tuple)

    def size(self) -> int:
        return len(self._elements)


def dims_of(value: Any) -> Dims:
    """The shape that an input `element_shape` means: -1 for any, or a vector with -1 for sizes that are not known."""
    found = np.asarray(value)
    return None if not found.ndim else tuple(None if size < 0 else size for size in found.tolist())


def merged(a: Dims, b: Dims) -> Dims:
    """What both shapes say together. Raises InvalidArgumentError if they disagree."""
    if a is None or b is None:
        return b if a is None else a
    if len(a) != len(b) or any(x is not None and y is not None and x != y for x, y in zip(a, b, strict=True)):
        raise invalid(f"Tried to set or read an element of a list of shape {_text(b)}, but it has {_text(a)}")
    return tuple(y if x is None else x for x, y in zip(a, b, strict=True))


def _text(shape: Dims) -> str:
    return f"[{','.join('?' if size is None else str(size) for size in shape or ())}]"


def _is_empty(element: Element) -> bool:
    return element is None or isinstance(element, tuple)


def _sum(a: Element, b: Element) -> Element:
    if _is_empty(a):
        return a if b is None else b
    if _is_empty(b):
        return a
    return a + b if isinstance(a, torch.Tensor) else sum_of_variants(a, b)


def zeros_like_variant(value: Any) -> Any:
    """The scalar of dtype variant that has a zero for each number in `value`: a list, an Optional. Raises
    UnimplementedError for what has none."""
    if not hasattr(value[()], "zeros_like"):
        raise errors.UnimplementedError(None, None, f"There are no zeros like a {type(value[()]).__name__}")
    return wrapped(value[()].zeros_like())


def sum_of_variants(a: Any, b: Any) -> Any:
    """The sum of two scalars of dtype variant. Raises UnimplementedError for what has none."""
    if not hasattr(a[()], "plus"):
        raise errors.UnimplementedError(None, None, f"A {type(a[()]).__name__} cannot be added")
    return wrapped(a[()].plus(b[()]))


def wrapped(value: Any) -> np.ndarray:
    """A value of dtype variant as the scalar that edges carry."""
    found = np.empty((), object)
    found[()] = value
    return found


def invalid(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, message)
