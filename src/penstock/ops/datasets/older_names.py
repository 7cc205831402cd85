"""The names that dataset ops had in TensorFlow 1.13 and 1.14: ExperimentalMapAndBatchDataset and others."""

from __future__ import annotations

from penstock.graph.opdef import define_alias, get_op

_NAMES = """
    CSVDataset DenseToSparseBatchDataset DirectedInterleaveDataset GroupByReducerDataset GroupByWindowDataset
    IgnoreErrorsDataset MapAndBatchDataset MapDataset ParallelInterleaveDataset RandomDataset ScanDataset SqlDataset
    TakeWhileDataset UnbatchDataset UniqueDataset
"""
for _name in _NAMES.split():
    define_alias(f"Experimental{_name}", get_op(_name), without=["metadata"])
