"""Datasets of the rows of tables: CSV files and SQL queries (TF: tf.contrib.data.CsvDataset, SqlDataset, …)."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from penstock import gfile
from penstock.data import nest
from penstock.data.asked import AUTOTUNE
from penstock.data.contrib_functions import parallel_interleave
from penstock.data.contrib_transformations import ignore_errors as skip_errors, shuffle_and_repeat
from penstock.data.core import DatasetBase
from penstock.data.dataset import Dataset
from penstock.data.structure import given_structure
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.ops.datasets.tables import CSV_DATASET, SQL_DATASET
from penstock.tensor.dtypes import DType, as_dtype, float32, float64, int32, int64, string
from penstock.tensor.shapes import TensorShape


@export("contrib.data.CsvDataset", "data.experimental.CsvDataset")
class CsvDataset(Dataset):
    """The rows of CSV files, a tuple of scalars each (TF: tf.contrib.data.CsvDataset).

    record_defaults: for each column (of `select_cols`, if given) the value of empty fields, as a tensor or list of one,
    or a dtype if fields are required. An invalid row raises InvalidArgumentError.
    """

    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: Any = None,
        buffer_size: Any = None,
        header: Any = False,
        field_delim: Any = ",",
        use_quote_delim: Any = True,
        na_value: Any = "",
        select_cols: Any = None,
    ) -> None:
        defaults = [
            convert_to_tensor(np.empty(0, d.as_numpy_dtype), d) if isinstance(d, DType) else convert_to_tensor(d)
            for d in record_defaults
        ]
        super().__init__(given_structure(tuple(d.dtype for d in defaults), tuple(TensorShape([]) for _ in defaults)))
        given = (
            (filenames, string, "filenames"),
            ("" if compression_type is None else compression_type, string, "compression_type"),
            (4 << 20 if buffer_size is None else buffer_size, int64, "buffer_size"),
            (header, as_dtype("bool"), "header"),
            (field_delim, string, "field_delim"),
            (use_quote_delim, as_dtype("bool"), "use_quote_delim"),
            (na_value, string, "na_value"),
            (np.array([] if select_cols is None else select_cols, np.int64), int64, "select_cols"),
        )
        self._inputs = [convert_to_tensor(value, dtype, name=name) for value, dtype, name in given]
        self._defaults = defaults

    def _as_variant_tensor(self) -> Tensor:
        return CSV_DATASET(*self._inputs, self._defaults, **self.structure.attrs())


@export("contrib.data.SqlDataset", "data.experimental.SqlDataset")
class SqlDataset(Dataset):
    """The rows that a query returns from an SQLite database: `driver_name` is "sqlite" (TF:
    tf.contrib.data.SqlDataset)."""

    def __init__(self, driver_name: Any, data_source_name: Any, query: Any, output_types: Any) -> None:
        shapes = nest.map_structure(lambda _: TensorShape([]), output_types)
        super().__init__(given_structure(output_types, shapes))
        named = {"driver_name": driver_name, "data_source_name": data_source_name, "query": query}
        self._inputs = [convert_to_tensor(value, string, name=name) for name, value in named.items()]

    def _as_variant_tensor(self) -> Tensor:
        return SQL_DATASET(*self._inputs, **self.structure.attrs())


@export("contrib.data.make_csv_dataset", "data.experimental.make_csv_dataset")
def make_csv_dataset(
    file_pattern: Any,
    batch_size: int,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = 1,
    num_parallel_reads: int | None = 1,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
) -> DatasetBase:
    """Batches of the rows of CSV files: dicts of columns, or with `label_name` pairs of such a dict and that column.

    Names come from the first file's header, and dtypes from its first `num_rows_for_inference` rows, unless
    `column_names` or `column_defaults` are given. With `ignore_errors` rows that cannot be read are left out.
    """
    names_of_files = _matching(file_pattern)
    layout = _Layout(names_of_files, field_delim, use_quote_delim, na_value, header, num_rows_for_inference)
    layout.unpacked = {None: False, "": False, "GZIP": True}.get(compression_type)
    if column_names is None:
        if not header:
            raise ValueError("Cannot infer column names without a header line.")
        column_names = layout.header()
    if len(column_names) != len(set(column_names)):
        raise ValueError("Cannot have duplicate column names.")
    chosen = _chosen_columns(select_columns, column_names)
    defaults = layout.defaults(len(column_names), chosen) if column_defaults is None else list(column_defaults)
    names = [column_names[number] for number in chosen]
    if label_name is not None and label_name not in names:
        raise ValueError("`label_name` provided must be one of the columns.")

    def rows(filename: Any) -> Any:
        found = CsvDataset(
            filename,
            defaults,
            compression_type=compression_type,
            header=header,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=chosen if select_columns is not None else None,
        )
        return found.apply(skip_errors()) if ignore_errors else found

    def columns(*parts: Any) -> Any:
        features = dict(zip(names, parts, strict=True))
        return features if label_name is None else (features, features.pop(label_name))

    dataset: Any = Dataset.from_tensor_slices(names_of_files)
    if shuffle:
        dataset = dataset.shuffle(len(names_of_files), shuffle_seed)
    dataset = dataset.apply(parallel_interleave(rows, num_parallel_reads or 1, sloppy=sloppy))
    dataset = shuffled_and_repeated(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    batches = dataset.batch(batch_size, num_epochs is None).map(columns)
    found: DatasetBase = batches.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)
    return found


def shuffled_and_repeated(dataset: Any, epochs: int | None, shuffle: bool, size: int, seed: int | None) -> Any:
    if shuffle and epochs != 1:
        return dataset.apply(shuffle_and_repeat(size, epochs, seed))
    return dataset.shuffle(size, seed) if shuffle else dataset if epochs == 1 else dataset.repeat(epochs)


def _matching(file_pattern: Any) -> list[str]:
    patterns = [file_pattern] if isinstance(file_pattern, str) else list(file_pattern)
    if not patterns:
        raise ValueError("File pattern is empty.")
    found = sorted({name for pattern in patterns for name in gfile.Glob(pattern)})
    if not found:
        raise ValueError(f"No files match {file_pattern}.")
    return found


def _chosen_columns(chosen: Sequence[Any] | None, names: Sequence[str]) -> list[int]:
    """The numbers of columns given by number or name; all columns for None."""
    if chosen is None:
        return list(range(len(names)))
    numbers = []
    for column in chosen:
        if isinstance(column, str):
            if column not in names:
                raise ValueError(f"Value of column {column!r} not found in column_names.")
            column = list(names).index(column)
        numbers.append(int(column))
    return sorted(numbers)


class _Layout:
    """What the first rows of files show about their columns."""

    def __init__(
        self, files: list[str], delimiter: str, quotes: bool, na_value: str, header: bool, rows: int | None
    ) -> None:
        self._files, self._na_value, self._has_header, self._count = files, na_value, header, rows
        self._format: Any = {"delimiter": delimiter, "quoting": csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE}

    unpacked: bool | None = False
    """Whether files are read through gzip; None: they cannot be read here."""

    def _rows(self, file: str) -> Iterator[list[str]]:
        if self.unpacked is None:
            raise ValueError("Of compressed files only those of gzip are read to infer columns: name all columns")
        with gzip.open(file, "rt") if self.unpacked else gfile.GFile(file, "r") as lines:
            yield from csv.reader(lines, **self._format)

    def header(self) -> list[str]:
        """The first line, which must be the same in all files."""
        first = next(self._rows(self._files[0]), [])
        for file in self._files[1:]:
            if next(self._rows(file), []) != first:
                raise ValueError("Files have different column names in the header row.")
        return first

    def defaults(self, count: int, chosen: list[int]) -> list[Any]:
        """A default with the smallest dtype that can hold the rows' values, for each `chosen` column."""
        found: list[DType | None] = [None] * len(chosen)
        rows = (row for file in self._files for row in islice(self._rows(file), int(self._has_header), None))
        for row in islice(rows, self._count):
            if len(row) != count:
                raise ValueError("Problem inferring types: CSV row has different number of fields than expected.")
            found = [self._dtype(row[number], before) for number, before in zip(chosen, found, strict=True)]
        return [[""] if d in (None, string) else np.zeros(1, d.as_numpy_dtype) for d in found]

    def _dtype(self, text: str, before: DType | None) -> DType | None:
        if text in ("", self._na_value):
            return before
        order = (int32, int64, float32, float64, string)
        return next(d for d in order[0 if before is None else order.index(before) :] if _fits(text, d))


def _fits(text: str, dtype: DType) -> bool:
    if dtype == string:
        return True
    try:
        value = int(text) if dtype.is_integer else float(text)
    except ValueError:
        return False
    return bool(dtype.min <= value <= dtype.max)
