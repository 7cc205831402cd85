"""Crosses of features: the product of each row's values, as strings or as their hashes (TF: SparseCross, …).

What is crossed are columns: sparse matrices [batch, any], then dense ones [batch, n], of strings or int64. Row by row
their values are combined in all ways, those of the last column changing fastest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, define_op, get_op
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.farmhash import fingerprint_cat, fingerprints
from penstock.ops.kernel_tools import invalid
from penstock.ops.sparse_tools import sparse_shapes
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import int64, string
from penstock.tensor.shapes import TensorShape

_COLUMNS = "indices: N * int64, values: sparse_types, shapes: N * int64, dense_inputs: dense_types"
_COUNT = "N: int >= 0"
_TYPES = ["sparse_types: list({int64, string}) >= 0", "dense_types: list({int64, string}) >= 0"]
_OUTPUTS = "output_indices: int64, output_values: {}, output_shape: int64"

SPARSE_CROSS = define_op(
    "SparseCross",
    _COLUMNS,
    _OUTPUTS.format("out_type"),
    attrs=[
        _COUNT,
        "hashed_output: bool",
        "num_buckets: int >= 0",
        "hash_key: int",
        *_TYPES,
        "out_type: {int64, string}",
        "internal_type: {int64, string}",
    ],
    work=SERIAL,
)
SPARSE_CROSS_V2 = define_op(
    "SparseCrossV2", f"{_COLUMNS}, sep: string", _OUTPUTS.format("string"), attrs=[_COUNT, *_TYPES], work=SERIAL
)
for _op in (SPARSE_CROSS, SPARSE_CROSS_V2):
    _op.not_differentiable()

    @_op.shape
    def cross_shape(c: ShapeContext, *inputs: Any) -> list[TensorShape]:
        return sparse_shapes(None, 2)


class _Column(NamedTuple):
    """Values, those of one row side by side, and how many each row has."""

    values: Any
    counts: np.ndarray


def _columns(indices: list[Any], values: list[Any], shapes: list[Any], dense: list[Any]) -> list[_Column]:
    """Raises InvalidArgumentError unless these are matrices with equally many rows."""
    if len(indices) != len(values) or len(shapes) != len(indices):
        raise invalid(f"Expected as many values and shapes as indices, {len(indices)}: {len(values)}, {len(shapes)}")
    for i, (at, value, shape) in enumerate(zip(indices, values, shapes, strict=True)):
        if at.ndim != 2 or at.shape[1] != 2:
            raise invalid(f"Input indices should be a matrix with 2 columns but received {_dims(at)} at position {i}")
        if value.ndim != 1 or len(value) != len(at):
            raise invalid(f"Expected size of values to be {len(at)}, got {_dims(value)} at position {i}")
        if shape.ndim != 1 or len(shape) != 2:
            raise invalid(f"Input shapes should be vectors of 2 but received {_dims(shape)} at position {i}")
    for i, matrix in enumerate(dense):
        if matrix.ndim != 2:
            raise invalid(f"Dense inputs should be a matrix but received shape {_dims(matrix)} at position {i}")
    heights = [int(shape[0]) for shape in shapes] + [matrix.shape[0] for matrix in dense]
    if len(set(heights)) > 1:
        raise invalid(f"Expected batch size {heights[0]} of all inputs, got {heights}")
    if not heights:
        raise invalid("Must pass at least one input to cross")
    found = []
    for at, value in zip(indices, values, strict=True):
        rows = at.numpy()[:, 0]
        if len(rows) and not 0 <= rows.min() <= rows.max() < heights[0]:
            raise invalid(f"Row {rows.min()} to {rows.max()} of sparse input is out of bounds: need [0, {heights[0]})")
        if (rows[1:] < rows[:-1]).any():
            raise invalid("The indices of a sparse input are not sorted by row")
        found.append(_Column(value, np.bincount(rows, minlength=heights[0])))
    for matrix in dense:
        found.append(_Column(matrix.reshape(-1), np.full(matrix.shape[0], matrix.shape[1])))
    return found


def _dims(value: Any) -> list[int]:
    return list(value.shape)


class _Product(NamedTuple):
    """For each combination its row, its place in the row, and the position of its value in each column."""

    rows: np.ndarray
    places: np.ndarray
    positions: list[np.ndarray]

    def sparse(self, values: Any, height: int) -> tuple[torch.Tensor, Any, torch.Tensor]:
        indices = np.stack([self.rows, self.places], 1)
        width = int(self.places.max(initial=-1)) + 1
        return torch.from_numpy(indices), values, torch.tensor([height, width])


def _product(columns: list[_Column]) -> _Product:
    totals = np.prod([column.counts for column in columns], 0, dtype=np.int64)
    rows = np.repeat(np.arange(len(totals)), totals)
    places = np.arange(len(rows)) - np.repeat(np.cumsum(totals) - totals, totals)
    rest, positions = places, []
    for column in reversed(columns):
        counts = column.counts[rows]
        starts = np.cumsum(column.counts) - column.counts
        positions.append(starts[rows] + rest % counts)
        rest = rest // counts
    return _Product(rows, places, positions[::-1])


def _text(values: Any) -> np.ndarray:
    if isinstance(values, np.ndarray):
        return values
    return np.array([str(value).encode() for value in values.tolist()] or [b""], object)[: len(values)]


def _joined(columns: list[_Column], product: _Product, separator: bytes) -> np.ndarray:
    parts = [_text(column.values)[at] for column, at in zip(columns, product.positions, strict=True)]
    found = np.empty(len(product.rows), object)
    found[:] = [separator.join(row) for row in zip(*parts, strict=True)]
    return found


@SPARSE_CROSS.kernel("CPU")
def sparse_cross_kernel(ctx: KernelContext) -> Kernel:
    """Ints are their own hashes. Without buckets, hashes are below the largest int64, as in TensorFlow."""
    buckets = np.uint64(ctx["num_buckets"] or 2**63 - 1)
    key, hashed = np.uint64(ctx["hash_key"] % 2**64), ctx["out_type"] == int64
    if ctx["internal_type"] == string and int64 in (*ctx["sparse_types"], *ctx["dense_types"]):
        raise invalid("SparseCross with internal_type string needs string inputs, and some are int64")

    def cross(indices: Any, values: Any, shapes: Any, dense: Any) -> tuple[Any, Any, Any]:
        columns = _columns(indices, values, shapes, dense)
        product, height = _product(columns), len(columns[0].counts)
        if not hashed:
            return product.sparse(_joined(columns, product, b"_X_"), height)
        found = np.full(len(product.rows), key)
        for (value, _), at in zip(columns, product.positions, strict=True):
            text = isinstance(value, np.ndarray)
            prints = fingerprints(value.tolist()) if text else value.numpy().view(np.uint64)
            found = fingerprint_cat(found, prints[at])
        return product.sparse(torch.from_numpy((found % buckets).view(np.int64)), height)

    return cross


@SPARSE_CROSS_V2.kernel("CPU")
def sparse_cross_v2_kernel(ctx: KernelContext) -> Kernel:
    def cross(indices: Any, values: Any, shapes: Any, dense: Any, separator: np.ndarray) -> tuple[Any, Any, Any]:
        columns = _columns(indices, values, shapes, dense)
        product = _product(columns)
        return product.sparse(_joined(columns, product, separator.item()), len(columns[0].counts))

    return cross


_HASH_KEY = 0xDECAFCAFFE


def _split(inputs: Any) -> tuple[list[Any], ...]:
    """The inputs of the ops: indices, values and shapes of sparse columns, and dense ones; integers as int64."""
    if not isinstance(inputs, list | tuple):
        raise TypeError("Inputs must be a list")
    every = [i if isinstance(i, SparseTensor) else convert_to_tensor(i) for i in inputs]
    sparse = [one for one in every if isinstance(one, SparseTensor)]
    dense = [one for one in every if not isinstance(one, SparseTensor)]

    def wide(values: Any) -> Any:
        return values if values.dtype.base_dtype in (string, int64) else get_op("Cast")(values, DstT=int64)

    return (
        [s.indices for s in sparse],
        [wide(s.values) for s in sparse],
        [s.dense_shape for s in sparse],
        [wide(d) for d in dense],
    )


@export("sparse.cross")
def sparse_cross(inputs: Any, name: str | None = None, separator: str | None = None) -> SparseTensor:
    """Strings "a_X_b" for all combinations of the values in each row of matrices (TF: tf.sparse.cross).

    inputs: sparse or dense tensors [batch, …], of strings or ints -> sparse strings [batch, most].
    """
    with name_scope(name, "sparse_cross"):
        parts = _split(inputs)
        return SparseTensor(*SPARSE_CROSS_V2(*parts, "_X_" if separator is None else separator))


@export("sparse.cross_hashed")
def sparse_cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """Like `sparse_cross`, but hashes: int64 in [0, num_buckets), or in that of int64 (TF: tf.sparse.cross_hashed)."""
    parts = _split(inputs)
    found = SPARSE_CROSS(
        *parts,
        hashed_output=True,
        num_buckets=num_buckets,
        hash_key=_HASH_KEY if hash_key is None else hash_key,
        out_type=int64,
        internal_type=int64,
        name=name or "SparseCross",
    )
    return SparseTensor(*found)
