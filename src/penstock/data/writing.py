"""Writing the elements of datasets (TF: tf.data.experimental.TFRecordWriter)."""

from __future__ import annotations

from typing import Any

from penstock.data import nest
from penstock.data.core import DatasetBase
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Operation
from penstock.ops.datasets.writing import DATASET_TO_TF_RECORD
from penstock.tensor.dtypes import string


@export("data.experimental.TFRecordWriter")
class TFRecordWriter:
    """Writes the elements of a dataset to a file of records.

    filename, compression_type ("", "GZIP" or "ZLIB"): strings, also as tensors.
    """

    def __init__(self, filename: Any, compression_type: Any = None) -> None:
        self._filename = convert_to_tensor(filename, string, name="filename")
        self._compression = convert_to_tensor(compression_type or "", string, name="compression_type")

    def write(self, dataset: DatasetBase) -> Operation:
        """An operation that writes all elements of `dataset`. Raises TypeError unless these are scalar strings."""
        if not isinstance(dataset, DatasetBase):
            raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
        types = dataset.output_types
        if nest.is_nest(types) or types != string or not dataset.output_shapes.is_compatible_with([]):
            raise TypeError(
                "`dataset` must produce scalar `DT_STRING` tensors whereas it produces shape "
                f"{dataset.output_shapes} and types {types}"
            )
        return DATASET_TO_TF_RECORD(dataset._as_variant_tensor(), self._filename, self._compression)
