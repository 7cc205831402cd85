# Written by `python -m penstock.api.generate`.
from penstock.data.asked import AUTOTUNE as AUTOTUNE
from penstock.data.contrib_functions import map_and_batch as map_and_batch
from penstock.data.contrib_functions import map_and_batch as map_and_batch_with_legacy_function
from penstock.data.contrib_functions import parallel_interleave as parallel_interleave
from penstock.data.contrib_functions import scan as scan
from penstock.data.contrib_functions import take_while as take_while
from penstock.data.contrib_transformations import Counter as Counter
from penstock.data.contrib_transformations import RandomDataset as RandomDataset
from penstock.data.contrib_transformations import choose_from_datasets as choose_from_datasets
from penstock.data.contrib_transformations import copy_to_device as copy_to_device
from penstock.data.contrib_transformations import dense_to_sparse_batch as dense_to_sparse_batch
from penstock.data.contrib_transformations import enumerate_dataset as enumerate_dataset
from penstock.data.contrib_transformations import get_single_element as get_single_element
from penstock.data.contrib_transformations import ignore_errors as ignore_errors
from penstock.data.contrib_transformations import prefetch_to_device as prefetch_to_device
from penstock.data.contrib_transformations import sample_from_datasets as sample_from_datasets
from penstock.data.contrib_transformations import shuffle_and_repeat as shuffle_and_repeat
from penstock.data.contrib_transformations import unbatch as unbatch
from penstock.data.contrib_transformations import unique as unique
from penstock.data.features import make_batched_features_dataset as make_batched_features_dataset
from penstock.data.features import parse_example_dataset as parse_example_dataset
from penstock.data.grouping import Reducer as Reducer
from penstock.data.grouping import bucket_by_sequence_length as bucket_by_sequence_length
from penstock.data.grouping import group_by_reducer as group_by_reducer
from penstock.data.grouping import group_by_window as group_by_window
from penstock.data.iterators import make_saveable_from_iterator as make_saveable_from_iterator
from penstock.data.options import DistributeOptions as DistributeOptions
from penstock.data.options import MapVectorizationOptions as MapVectorizationOptions
from penstock.data.options import OptimizationOptions as OptimizationOptions
from penstock.data.options import StatsOptions as StatsOptions
from penstock.data.options import ThreadingOptions as ThreadingOptions
from penstock.data.parquet import ParquetDataset as ParquetDataset
from penstock.data.resampling import rejection_resample as rejection_resample
from penstock.data.tables import CsvDataset as CsvDataset
from penstock.data.tables import SqlDataset as SqlDataset
from penstock.data.tables import make_csv_dataset as make_csv_dataset
from penstock.data.writing import TFRecordWriter as TFRecordWriter
from penstock.training_loop.input_pipeline_hook import CheckpointInputPipelineHook as CheckpointInputPipelineHook

__all__ = [
    "AUTOTUNE", "map_and_batch", "map_and_batch_with_legacy_function", "parallel_interleave", "scan", "take_while",
    "Counter", "RandomDataset", "choose_from_datasets", "copy_to_device", "dense_to_sparse_batch", "enumerate_dataset",
    "get_single_element", "ignore_errors", "prefetch_to_device", "sample_from_datasets", "shuffle_and_repeat",
    "unbatch", "unique", "make_batched_features_dataset", "parse_example_dataset", "Reducer",
    "bucket_by_sequence_length", "group_by_reducer", "group_by_window", "make_saveable_from_iterator",
    "DistributeOptions", "MapVectorizationOptions", "OptimizationOptions", "StatsOptions", "ThreadingOptions",
    "ParquetDataset", "rejection_resample", "CsvDataset", "SqlDataset", "make_csv_dataset", "TFRecordWriter",
    "CheckpointInputPipelineHook"
]
