"""Rows of Parquet files: ParquetDataset, which is Penstock's own op. Requires pyarrow."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from penstock import errors, gfile
from penstock.ops.datasets.base import DatasetState, ElementIterator, IterationContext, State
from penstock.ops.datasets.blocks import Block, Column
from penstock.ops.datasets.define import dataset_kernel, define_dataset
from penstock.ops.datasets.files import file_names
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType, as_dtype, string
from penstock.tensor.shapes import TensorShape

PARQUET_DATASET = define_dataset("ParquetDataset", "filenames: string, columns: string", stateful=True, metadata=False)

_AT_ONCE = 4096  # rows that are decoded together


def arrow() -> Any:
    """Imports pyarrow with its Parquet module; the ImportError says how to install it."""
    try:
        importlib.import_module("pyarrow.parquet")
        return importlib.import_module("pyarrow")
    except ImportError:
        raise ImportError("Parquet files are read with pyarrow: pip install 'penstock[parquet]'") from None


def open_file(name: str) -> Any:
    """Opens a Parquet file. Raises NotFoundError and the like, or DataLossError if it is not Parquet, naming the
    file."""
    pyarrow = arrow()
    source = gfile.GFile(name, "rb") if "://" in name else name
    try:
        return pyarrow.parquet.ParquetFile(source)
    except FileNotFoundError:
        raise errors.NotFoundError(None, None, f"{name}; No such file or directory") from None
    except (pyarrow.ArrowException, OSError) as error:
        raise errors.DataLossError(None, None, f"{name} cannot be read as a Parquet file: {error}") from None


def column_type(kind: Any) -> tuple[DType, TensorShape]:
    """The dtype and shape of the values of a column of an Arrow type. Raises TypeError for unsupported types."""
    types = arrow().types
    if types.is_fixed_size_list(kind):
        dtype, shape = column_type(kind.value_type)
        return dtype, TensorShape([kind.list_size]).concatenate(shape)
    if types.is_list(kind) or types.is_large_list(kind):
        dtype, shape = column_type(kind.value_type)
        if shape.ndims:
            raise TypeError(f"a tensor cannot hold lists of lists ({kind})")
        return dtype, TensorShape([None])
    if types.is_dictionary(kind):
        return column_type(kind.value_type)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        return string, TensorShape([])
    if types.is_temporal(kind):
        return as_dtype("int64"), TensorShape([])
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return as_dtype(kind.to_pandas_dtype()), TensorShape([])
    raise TypeError(f"a tensor cannot hold values of Arrow's type {kind}")


class ParquetRows(DatasetState):
    """The rows of files, one file after another: a component for each of `columns`."""

    def __init__(
        self, names: Sequence[str], columns: Sequence[str], dtypes: Sequence[DType], shapes: Sequence[TensorShape]
    ) -> None:
        super().__init__(dtypes, shapes)
        self.names, self.columns = names, columns

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _ParquetIterator(self)


class _ParquetIterator(ElementIterator):
    """An error ends a file; the next one follows."""

    def __init__(self, dataset: ParquetRows) -> None:
        self._dataset = dataset
        self._number = self._row = 0  # the file, and the number of its rows returned so far
        self._file: Any = None
        self._batches: Iterator[Any] = iter(())
        self._block: Block | None = None

    def _many(self, count: int) -> Block | None:
        while self._number < len(self._dataset.names):
            try:
                block = self._block or self._next_block()
            except Exception:
                self._next_file()
                raise
            if block is None:
                self._next_file()
                continue
            self._block = block.part(count, block.size) if block.size > count else None
            self._row += min(count, block.size)
            return block.part(0, min(count, block.size))
        return None

    def _next_block(self) -> Block | None:
        name = self._dataset.names[self._number]
        if self._file is None:
            self._file = open_file(name)
            self._begin(name, 0)
        try:
            batch = next(self._batches, None)
        except (arrow().ArrowException, OSError) as error:
            raise errors.DataLossError(None, None, f"{name} cannot be read after row {self._row}: {error}") from None
        if batch is None or not batch.num_rows:
            return None
        columns = zip(self._dataset.columns, batch.columns, self._dataset.dtypes, strict=True)
        return Block(batch.num_rows, [_column(values, dtype, f"{title} of {name}") for title, values, dtype in columns])

    def _begin(self, name: str, row: int) -> None:
        """Begin at a row."""
        missing = [column for column in self._dataset.columns if column not in self._file.schema_arrow.names]
        if missing:
            raise errors.NotFoundError(None, None, f"{name} has no column {missing[0]!r}")
        group, at, meta = 0, 0, self._file.metadata
        while group < meta.num_row_groups and at + meta.row_group(group).num_rows <= row:
            at += meta.row_group(group).num_rows
            group += 1
        batches = self._file.iter_batches(
            _AT_ONCE, row_groups=list(range(group, meta.num_row_groups)), columns=list(self._dataset.columns)
        )
        self._batches = (batch.select(list(self._dataset.columns)) for batch in batches)
        while at < row:
            batch = next(self._batches)
            if at + batch.num_rows > row:
                self._batches = _chained(batch.slice(row - at), self._batches)
            at += batch.num_rows

    def _next_file(self) -> None:
        self.close()
        self._number, self._row = self._number + 1, 0

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file, self._batches, self._block = None, iter(()), None

    def _save(self) -> State:
        return {"file": self._number, "row": self._row}

    def _restore(self, state: State) -> None:
        self._number, self._row = state["file"], state["row"]
        if self._row:
            name = self._dataset.names[self._number]
            self._file = open_file(name)
            self._begin(name, self._row)


def _chained(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


# --- values ---------------------------------------------------------------------------------------------


def _column(values: Any, dtype: DType, what: str) -> Column:
    """An Arrow array as tensors. Missing values become NaN or the empty string, and are errors for other types."""
    pyarrow = arrow()
    types, kind = pyarrow.types, values.type
    if types.is_dictionary(kind):
        values = values.dictionary_decode()
        kind = values.type
    if types.is_fixed_size_list(kind):
        _refuse_missing(values, what)
        inner: Any = _column(values.flatten(), dtype, what)
        return inner.reshape(len(values), kind.list_size, *inner.shape[1:])
    if types.is_list(kind) or types.is_large_list(kind):
        _refuse_missing(values, what)
        flat: Any = _column(values.flatten(), dtype, what)
        edges = (values.offsets.to_numpy() - values.offsets[0].as_py()).tolist()
        return [flat[begin:end] for begin, end in pairwise(edges)]
    if column_type(kind)[0] != dtype:
        raise invalid(f"{what} is of type {kind}, not {dtype.name}")
    if dtype == string:
        texts = values.cast(pyarrow.large_binary()).to_pylist()
        found = np.empty(len(texts), object)
        found[:] = [b"" if text is None else text for text in texts]
        return found
    if types.is_temporal(kind):
        values = values.cast(pyarrow.int64()) if kind.bit_width == 64 else values.cast(pyarrow.int32())
    if not dtype.is_floating:
        _refuse_missing(values, what)
    return torch.from_numpy(np.array(values.to_numpy(zero_copy_only=False), dtype.np))


def _refuse_missing(values: Any, what: str) -> None:
    if values.null_count:
        raise invalid(f"{what} lacks {values.null_count} values, which a tensor cannot represent")


@dataset_kernel(PARQUET_DATASET)
def parquet_dataset(ctx: KernelContext) -> Any:
    dtypes, shapes = ctx["output_types"], ctx["output_shapes"]

    def rows(names: np.ndarray, columns: np.ndarray) -> DatasetState:
        if columns.ndim > 1:
            raise invalid(f"`columns` must be a scalar or a vector, not of shape {list(columns.shape)}")
        return ParquetRows(file_names(names), [name.decode() for name in columns.reshape(-1).tolist()], dtypes, shapes)

    return rows
