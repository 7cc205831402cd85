"""What ops of sparse tensors share: checks, keys of index rows, and their shape rules.

A sparse tensor comes as indices [n, rank] int64, values [n] and shape [rank] int64. Indices are worked on with
NumPy, values stay what they are: a torch tensor, or an object array of strings.
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
"""The types of values that are only moved."""


def as_sparse(value: Any, name: str = "sp_input") -> SparseTensor:
    """A SparseTensor of one, of a SparseTensorValue or of a 3-tuple; TypeError of anything else."""
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
    """`count` values: those given at `positions`, `default` (a scalar value) elsewhere."""
    if isinstance(values, np.ndarray):
        found = np.full(count, default.item(), object)
        found[positions] = values
        return found
    filled = as_signed(default).expand(count).clone()
    filled[torch.from_numpy(np.ascontiguousarray(positions))] = as_signed(values)
    return filled.view(values.dtype)


def join(values: list[Any]) -> Any:
    """The values one after another."""
    return np.concatenate(values) if isinstance(values[0], np.ndarray) else torch.cat(values)


def tensor(array: np.ndarray) -> torch.Tensor:
    """An int64 array as a kernel's output."""
    return torch.from_numpy(np.ascontiguousarray(array, np.int64))


# --- indices --------------------------------------------------------------------------------------------


def row_keys(*parts: np.ndarray) -> list[np.ndarray]:
    """A number for each row of each index matrix: equal where rows are, and ordered as rows are (row-major)."""
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
    """What a step along each dimension is worth in row-major order."""
    return np.array([math.prod(dims[i + 1 :]) for i in range(len(dims))], np.int64)


def sorted_order(keys: np.ndarray) -> np.ndarray | None:
    """Positions that put keys in order, equal ones as they stand; None if they are."""
    return None if (keys[1:] >= keys[:-1]).all() else np.argsort(keys, kind="stable")


def positions_in(keys: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each key stands in `table`, whose keys differ, and whether it does (the position is 0 if not)."""
    if not len(table):
        return np.zeros(len(keys), np.int64), np.zeros(len(keys), bool)
    order = np.argsort(table, kind="stable")
    at = np.minimum(np.searchsorted(table, keys, sorter=order), len(table) - 1)
    found = order[at]
    hit = table[found] == keys
    return np.where(hit, found, 0), hit


# --- checks of a step -----------------------------------------------------------------------------------


def check_parts(indices: Any, values: Any, shape: Any, of: str = "") -> None:
    """Raises InvalidArgumentError if the three are no sparse tensor; indices are not looked at."""
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
    """InvalidArgumentError, with the first index that is not inside `dims`."""
    if not len(indices) or not dims:
        return
    limits = torch.tensor(dims, dtype=indices.dtype, device=indices.device)
    if ((indices < 0) | (indices >= limits)).any():
        bad = ((indices < 0) | (indices >= limits)).any(1)
        at = int(bad.nonzero()[0])
        raise invalid(f"indices[{at}] = {_index(indices, at)} is out of bounds: need 0 <= index < {_text(dims)}")


def check_order(indices: torch.Tensor, keys: Any) -> None:
    """Raises InvalidArgumentError if keys (those of indices) do not grow, with the first index that is at fault."""
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
    """How many elements there are and their rank; raises ValueError if the three disagree."""
    rows, rank = indices.with_rank(2).tuple
    rows = merge_dim(rows, values.with_rank(1).tuple[0], "numbers of indices and values")
    return rows, merge_dim(rank, shape.with_rank(1).tuple[0], "ranks of indices and shape")


def sparse_shapes(rows: int | None, rank: int | None) -> list[TensorShape]:
    """The shapes of a sparse tensor's three parts."""
    return [TensorShape([rows, rank]), TensorShape([rows]), TensorShape([rank])]
