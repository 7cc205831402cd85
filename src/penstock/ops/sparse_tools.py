"""What ops on sparse tensors share: checks, keys of index rows, and shape rules.

A sparse tensor consists of indices [n, rank] int64, values [n] and shape [rank] int64. Indices are processed with
NumPy; values remain a torch tensor or an object array of strings.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from penstock.graph.composite import SparseTensor, SparseTensorValue
from penstock.ops.kernel_tools import TORCH_TYPES, as_signed, invalid
from penstock.tensor.shapes import TensorShape, merge_dim

ANY = f"{TORCH_TYPES} string"
"""The types of values in ops that only move them."""


def as_sparse(value: Any, name: str = "sp_input") -> SparseTensor:
    """Converts a SparseTensor, a SparseTensorValue or a 3-tuple to a SparseTensor; raises TypeError for others."""
    if isinstance(value, SparseTensor):
        return value
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    raise TypeError(f"{name} must be a SparseTensor, got {value!r} of type {type(value).__name__}")


# --- values ---------------------------------------------------------------------------------------------


def take(values: Any, positions: np.ndarray) -> Any:
    """The values at `positions`."""
    if isinstance(values, np.ndarray):
        return values[positions]
    return values[torch.from_numpy(np.ascontiguousarray(positions))]


def put(values: Any, positions: np.ndarray, count: int, default: Any) -> Any:
    """`count` values: the given ones at `positions`, `default` (a scalar value) elsewhere."""
    if isinstance(values, np.ndarray):
        found = np.full(count, default.item(), object)
        found[positions] = values
        return found
    filled = as_signed(default).expand(count).clone()
    filled[torch.from_numpy(np.ascontiguousarray(positions))] = as_signed(values)
    return filled.view(values.dtype)


def join(values: list[Any]) -> Any:
    """The values, concatenated."""
    return np.concatenate(values) if isinstance(values[0], np.ndarray) else torch.cat(values)


def tensor(array: np.ndarray) -> torch.Tensor:
    """An int64 array as a kernel's output."""
    return torch.from_numpy(np.ascontiguousarray(array, np.int64))


# --- indices --------------------------------------------------------------------------------------------


def row_keys(*parts: np.ndarray) -> list[np.ndarray]:
    """A number for each row of each index matrix, equal if rows are equal, and in row-major order."""
    rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
    count, rank = rows.shape
    if rank == 1:
        keys = rows[:, 0]
    elif not count or not rank:
        keys = np.zeros(count, np.int64)
    else:
        low = rows.min(0)
        extents = [int(e) for e in rows.max(0).astype(object) - low + 1]
        if math.prod(extents) < 2**63:
            keys = (rows - low) @ strides_of(extents)
        else:
            keys = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    return np.split(keys, np.cumsum([len(part) for part in parts])[:-1])


def strides_of(dims: list[int]) -> np.ndarray:
    """The row-major stride of each dimension."""
    return np.array([math.prod(dims[i + 1 :]) for i in range(len(dims))], np.int64)


def sorted_order(keys: np.ndarray) -> np.ndarray | None:
    """Positions that sort keys, stably; None if they are sorted."""
    return None if (keys[1:] >= keys[:-1]).all() else np.argsort(keys, kind="stable")


def positions_in(keys: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The position of each key in `table`, whose keys are distinct, and whether it is there (otherwise the position is
    0)."""
    if not len(table):
        return np.zeros(len(keys), np.int64), np.zeros(len(keys), bool)
    order = np.argsort(table, kind="stable")
    at = np.minimum(np.searchsorted(table, keys, sorter=order), len(table) - 1)
    found = order[at]
    hit = table[found] == keys
    return np.where(hit, found, 0), hit


# --- checks of a step -----------------------------------------------------------------------------------


def check_parts(indices: Any, values: Any, shape: Any, of: str = "") -> None:
    """Raises InvalidArgumentError if the three are not a sparse tensor; index values are not checked."""
    of = of and f" of {of}"
    if indices.ndim != 2:
        raise invalid(f"Input indices{of} should be a matrix but received shape {list(indices.shape)}")
    if values.ndim != 1:
        raise invalid(f"Input values{of} should be a vector but received shape {list(values.shape)}")
    if shape.ndim != 1:
        raise invalid(f"Input shape{of} should be a vector but received shape {list(shape.shape)}")
    if len(indices) != len(values):
        raise invalid(f"There are {len(indices)} indices{of}, but {len(values)} values")
    if indices.shape[1] != len(shape):
        raise invalid(f"The indices{of} have {indices.shape[1]} columns, but the shape has rank {len(shape)}")


def check_bounds(indices: torch.Tensor, dims: list[int]) -> None:
    """Raises InvalidArgumentError for the first index outside `dims`."""
    if not len(indices) or not dims:
        return
    limits = torch.tensor(dims, dtype=indices.dtype, device=indices.device)
    if ((indices < 0) | (indices >= limits)).any():
        bad = ((indices < 0) | (indices >= limits)).any(1)
        at = int(bad.nonzero()[0])
        raise invalid(f"indices[{at}] = {_index(indices, at)} is out of bounds: need 0 <= index < {_text(dims)}")


def check_order(indices: torch.Tensor, keys: Any) -> None:
    """Raises InvalidArgumentError for the first index whose key is not greater than the one before."""
    if not (keys[1:] > keys[:-1]).all():
        at = int((keys[1:] <= keys[:-1]).nonzero()[0][0]) + 1
        fault = "repeated" if keys[at] == keys[at - 1] else "out of order"
        raise invalid(
            f"indices[{at}] = {_index(indices, at)} is {fault}. Many sparse ops require sorted indices.\n"
            "Use `tf.sparse.reorder` to create a correctly ordered copy."
        )


def _index(indices: torch.Tensor, at: int) -> str:
    return _text(indices[at].tolist())


def _text(dims: list[int]) -> str:
    return f"[{','.join(map(str, dims))}]"


# --- shape rules ----------------------------------------------------------------------------------------


def known_parts(indices: TensorShape, values: TensorShape, shape: TensorShape) -> tuple[int | None, int | None]:
    """The number of elements and their rank; raises ValueError if the three disagree."""
    rows, rank = indices.with_rank(2).tuple
    rows = merge_dim(rows, values.with_rank(1).tuple[0], "numbers of indices and values")
    return rows, merge_dim(rank, shape.with_rank(1).tuple[0], "ranks of indices and shape")


def sparse_shapes(rows: int | None, rank: int | None) -> list[TensorShape]:
    """The shapes of a sparse tensor's three parts."""
    return [TensorShape([rows, rank]), TensorShape([rows]), TensorShape([rank])]
