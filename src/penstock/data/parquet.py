"""Datasets of the rows of Parquet files. TensorFlow has no such dataset: the names are Penstock's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.data.dataset import Dataset
from penstock.data.structure import Structure
from penstock.export import export
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.ops.datasets.parquet import PARQUET_DATASET, column_type, open_file
from penstock.tensor.dtypes import DType, as_dtype, string
from penstock.tensor.shapes import TensorShape, unknown_shape


@export("contrib.data.ParquetDataset", "data.experimental.ParquetDataset")
class ParquetDataset(Dataset):
    """The rows of Parquet files, one file after another: dicts from column names to values. Requires pyarrow.

    columns: the names of the columns, whose dtypes are the first file's; or a dict from names to dtypes, if files are
    only known in a step. Numbers, strings, binary values and times (as integers) are scalars, lists of them vectors. A
    missing number is NaN, a missing string empty; other missing values raise InvalidArgumentError. A graph with this
    dataset can be loaded by Penstock only.
    """

    def __init__(self, filenames: Any, columns: Sequence[str] | Mapping[str, Any] | None = None) -> None:
        self._filenames = convert_to_tensor(filenames, string, name="filenames")
        kinds = self._kinds(columns)
        self._columns = convert_to_tensor(sorted(kinds), string, name="columns")
        super().__init__(
            Structure(
                {name: dtype for name, (dtype, _) in kinds.items()},
                {name: shape for name, (_, shape) in kinds.items()},
                dict.fromkeys(kinds, Tensor),
            )
        )

    def _kinds(self, columns: Sequence[str] | Mapping[str, Any] | None) -> dict[str, tuple[DType, TensorShape]]:
        if isinstance(columns, Mapping):
            return {name: (as_dtype(dtype), unknown_shape()) for name, dtype in columns.items()}
        names = constant_value(self._filenames)
        if names is None or not names.size:
            raise ValueError("If files are only known in a step, `columns` must be a dict from names to dtypes.")
        first = names.reshape(-1)[0].decode("utf-8", "surrogateescape")
        with open_file(first) as file:
            fields = {field.name: field.type for field in file.schema_arrow}
        missing = [name for name in columns or () if name not in fields]
        if missing:
            raise ValueError(f"{first} has no column {missing[0]!r}: it has {', '.join(fields)}")
        return {name: column_type(fields[name]) for name in (fields if columns is None else columns)}

    def _as_variant_tensor(self) -> Tensor:
        return PARQUET_DATASET(self._filenames, self._columns, **self.structure.attrs())
