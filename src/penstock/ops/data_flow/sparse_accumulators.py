"""Conditional accumulators of sparse gradients, rows with indices (TF: SparseConditionalAccumulator)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from penstock.ops.data_flow.accumulators import DTYPE, REF, Accumulator, define_accumulator, define_use, take_kernel
from penstock.ops.data_flow.queue_elements import own
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext


class SparseAccumulator(Accumulator):
    """Sums rows by index. The mean of a row is over the gradients that have it."""

    kind = "sparse conditional accumulator"
    _indices: np.ndarray
    _rows: Any = None
    _counts: np.ndarray

    def begin(self, *gradient: Any) -> None:
        indices, rows, _ = gradient
        self._check(*gradient)
        for i, dim in enumerate((self.allowed.tuple or ())[1:], 1):
            if dim is not None and dim != rows.shape[i]:
                raise invalid(f"Shape mismatch: expected values dim {i} to be {dim}, got {rows.shape[i]}")
        self._indices, self._rows = np.array(indices), own(rows)
        self._counts = np.ones(len(self._indices), np.int64)

    def add(self, *gradient: Any) -> None:
        indices, rows, _ = gradient
        self._check(*gradient)
        if rows.ndim != self._rows.ndim:
            raise invalid(f"Shape mismatch: expected values rank {self._rows.ndim}, got {rows.ndim}")
        for i, (have, given) in enumerate(zip(self._rows.shape[1:], rows.shape[1:], strict=True), 1):
            if have != given:
                raise invalid(f"Shape mismatch: expected values dim {i} to be {have}, got {given}")
        ours, theirs = merge(self._indices, np.asarray(indices))
        total = int(max(ours.max(initial=-1), theirs.max(initial=-1))) + 1
        merged, counts = np.zeros(total, np.int64), np.zeros(total, np.int64)
        merged[ours], merged[theirs] = self._indices, indices
        counts[ours] = self._counts
        counts[theirs] += 1
        summed = rows.new_zeros((total, *rows.shape[1:]))
        summed[torch.from_numpy(ours)] = self._rows
        summed[torch.from_numpy(theirs)] += rows
        self._indices, self._rows, self._counts = merged, summed, counts

    def _check(self, indices: Any, rows: Any, shape: Any) -> None:
        """Raises InvalidArgumentError unless a gradient is consistent, and fits the accumulator. `shape` may be
        None."""
        if indices.ndim != 1:
            raise invalid(f"Input indices should be vector but received shape: [{','.join(map(str, indices.shape))}]")
        if not rows.ndim:
            raise invalid("Values cannot be 0-dimensional.")
        if len(rows) != len(indices):
            raise invalid(f"Expected {len(indices)} non-empty input values, got {len(rows)}")
        dims = self.allowed.tuple or ()
        given = rows.ndim if shape is None else len(shape)
        if len(dims) > given:
            what = "values rank" if shape is None else "shape rank"
            raise invalid(f"Shape mismatch: expected {what} at least {len(dims)}, got {given}")
        for i, (dim, size) in enumerate(zip(dims, () if shape is None else shape.tolist(), strict=False)):
            if dim is not None and dim != size:
                raise invalid(f"Shape mismatch: expected shape dim {i} to be {dim}, got {size}")
        if dims and dims[0] is not None and len(indices) and int(indices.max()) >= dims[0]:
            place = int(np.argmax(np.asarray(indices) >= dims[0]))
            raise invalid(
                f"Shape mismatch: index of slice {place} exceeded limits of shape; index is {int(indices[place])} "
                f"exceeded {dims[0]}"
            )

    def result(self) -> Any:
        indices, rows, counts = torch.from_numpy(self._indices), self._rows, self._counts
        if self.mean:
            rows = rows / torch.from_numpy(counts).to(rows.dtype).reshape(-1, *[1] * (rows.ndim - 1))
        first = (self.allowed.tuple or (None,))[:1] or (None,)
        dims = [-1 if first[0] is None else first[0], *rows.shape[1:]]
        self._rows = None
        return indices, rows, torch.tensor(dims)

    def forget(self) -> None:
        super().forget()
        self._rows = None


def merge(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The positions of the elements of `a`, and of those of `b`, after merging both as sorted lists.

    Equal heads of both lists share a position. As in TensorFlow, indices that are not sorted may occur several times.
    """
    if (a[1:] > a[:-1]).all() and (b[1:] > b[:-1]).all():
        merged = np.union1d(a, b)
        return np.searchsorted(merged, a), np.searchsorted(merged, b)
    ours, theirs = np.empty(len(a), np.int64), np.empty(len(b), np.int64)
    left, right = a.tolist(), b.tolist()
    i = j = place = 0
    while i < len(left) or j < len(right):
        takes_left = j == len(right) or (i < len(left) and left[i] <= right[j])
        takes_right = i == len(left) or (j < len(right) and right[j] <= left[i])
        if takes_left:
            ours[i] = place
        if takes_right:
            theirs[j] = place
        i, j, place = i + takes_left, j + takes_right, place + 1
    return ours, theirs


# --- ops ------------------------------------------------------------------------------------------------

define_accumulator("SparseConditionalAccumulator", REF, SparseAccumulator)


def _apply_kernel(ctx: KernelContext) -> Callable[..., None]:
    dtype, has_shape = ctx["dtype"], ctx["has_known_shape"]

    def apply(accumulator: Accumulator, local_step: Any, indices: Any, values: Any, shape: Any) -> None:
        accumulator.check_dtype(dtype)
        accumulator.apply(int(local_step), indices.numpy(), values, shape if has_shape else None)

    return apply


define_use(
    "SparseAccumulatorApplyGradient",
    REF,
    "local_step: int64, gradient_indices: int64, gradient_values: dtype, gradient_shape: int64",
    "",
    [*DTYPE, "has_known_shape: bool"],
    _apply_kernel,
)
_TAKE = define_use(
    "SparseAccumulatorTakeGradient",
    REF,
    "num_required: int32",
    "indices: int64, values: dtype, shape: int64",
    DTYPE,
    take_kernel,
    waits=True,
)
