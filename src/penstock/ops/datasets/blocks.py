"""Several elements of a dataset at once, by component: passed between iterators, so that Python code runs once for many
elements.

An element is a tuple of kernels' values, one for each component: torch tensors, or arrays of objects for strings and
variants. A column holds the values of one component for several elements: a tensor or an array with an additional first
dimension, or a list of values, which may differ in shape. Blocks are never written to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from penstock.devices.openmp import limited
from penstock.ops.kernel_tools import as_signed

Element = tuple[Any, ...]
Column = torch.Tensor | np.ndarray | list[Any]

# Copying in several threads would only wait for those that compute the next elements.
_stack, _cat = limited(torch.stack, 1), limited(torch.cat, 1)


class Block:
    """`size` elements, at least one."""

    __slots__ = ("columns", "size")

    def __init__(self, size: int, columns: Iterable[Column]) -> None:
        self.size = size
        self.columns: tuple[Column, ...] = tuple(columns)

    def row(self, index: int) -> Element:
        """One element."""
        return tuple([value_at(column, index) for column in self.columns])

    def rows(self) -> list[Element]:
        """All elements, one by one."""
        return list(zip(*map(values_of, self.columns), strict=True)) if self.columns else [()] * self.size

    def part(self, begin: int, end: int) -> Block:
        """The elements from `begin` to `end`, in the same memory."""
        if begin == 0 and end == self.size:
            return self
        return Block(end - begin, (column[begin:end] for column in self.columns))

    def take(self, indices: np.ndarray) -> Block:
        """The elements at these indices (int64), in separate memory."""
        return Block(len(indices), (taken(column, indices) for column in self.columns))

    def stacked(self) -> Block:
        """The same with a tensor or an array for each list whose values have the same shape."""
        return Block(self.size, map(stack, self.columns))


def of_elements(elements: Sequence[Element]) -> Block:
    """A block of existing elements, which keep their memory."""
    return Block(len(elements), map(list, zip(*elements, strict=True)))


def joined(blocks: Sequence[Block]) -> Block:
    """The elements of several blocks as one."""
    if len(blocks) == 1:
        return blocks[0]
    columns = zip(*(block.columns for block in blocks), strict=True)
    return Block(sum(block.size for block in blocks), map(_joined, columns))


def variant(value: Any) -> np.ndarray:
    """`value` as a scalar on an edge of dtype variant."""
    found = np.empty((), object)
    found[()] = value
    return found


def value_at(column: Column, index: int) -> Any:
    found = column[index]
    if isinstance(column, np.ndarray) and column.ndim == 1:
        return variant(found)
    return found


def values_of(column: Column) -> list[Any]:
    if isinstance(column, list):
        return column
    if isinstance(column, torch.Tensor):
        return list(column.unbind())
    return list(map(variant, column)) if column.ndim == 1 else list(column)


def taken(column: Column, indices: np.ndarray) -> Column:
    if isinstance(column, list):
        return [column[i] for i in indices.tolist()]
    if isinstance(column, np.ndarray):
        return column[indices]
    return as_signed(column).index_select(0, torch.from_numpy(indices)).view(column.dtype)


def stack(column: Column) -> Column:
    """A list as one tensor or array; the list itself if the shapes of its values differ."""
    if not isinstance(column, list):
        return column
    first = column[0]
    if len(column) == 1:
        return first[None]
    shape = first.shape
    if any(value.shape != shape for value in column):
        return column
    if isinstance(first, torch.Tensor):
        return _stack(list(map(as_signed, column))).view(first.dtype)
    return np.stack(column)


def _joined(columns: Sequence[Column]) -> Column:
    first = columns[0]
    if not any(isinstance(column, list) for column in columns):
        if any(column.shape[1:] != first.shape[1:] for column in columns):  # type: ignore[union-attr]
            return [value for column in columns for value in values_of(column)]
        if isinstance(first, torch.Tensor):
            return _cat(list(map(as_signed, columns))).view(first.dtype)  # type: ignore[arg-type]
        return np.concatenate(columns)
    return [value for column in columns for value in values_of(column)]
