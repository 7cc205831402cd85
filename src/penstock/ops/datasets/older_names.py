"""The names that dataset ops had in TensorFlow 1.13 and 1.14: ExperimentalMapAndBatchDataset and others."""

from __future__ import annotations

from penstock.graph.opdef import define_alias, get_op

_NAMES = """
    CSVDataset DenseToSparseBatchDataset DirectedInterleaveDataset GroupByReducerDataset GroupByWindowDataset
    IgnoreErrorsDataset MapAndBatchDataset MapDataset ParallelInterleaveDataset RandomDataset ScanDataset SqlDataset
    TakeWhileDataset UnbatchDataset UniqueDataset
"""
_NEWER = ["metadata", "stop_on_empty_dataset", "use_default_device"]
for _name in _NAMES.split():
    define_alias(f"Experimental{_name}", get_op(_name), without=_NEWER)
