# Written by `python -m penstock.api.generate`.
from penstock.data.asked import AUTOTUNE as AUTOTUNE
from penstock.data.contrib_functions import map_and_batch as map_and_batch
from penstock.data.contrib_functions import parallel_interleave as parallel_interleave
from penstock.data.contrib_functions import scan as scan
from penstock.data.contrib_transformations import Counter as Counter
from penstock.data.contrib_transformations import RandomDataset as RandomDataset
from penstock.data.contrib_transformations import assert_element_shape as assert_element_shape
from penstock.data.contrib_transformations import batch_and_drop_remainder as batch_and_drop_remainder
from penstock.data.contrib_transformations import choose_from_datasets as choose_from_datasets
from penstock.data.contrib_transformations import copy_to_device as copy_to_device
from penstock.data.contrib_transformations import dense_to_sparse_batch as dense_to_sparse_batch
from penstock.data.contrib_transformations import enumerate_dataset as enumerate_dataset
from penstock.data.contrib_transformations import get_single_element as get_single_element
from penstock.data.contrib_transformations import ignore_errors as ignore_errors
from penstock.data.contrib_transformations import padded_batch_and_drop_remainder as padded_batch_and_drop_remainder
from penstock.data.contrib_transformations import prefetch_to_device as prefetch_to_device
from penstock.data.contrib_transformations import sample_from_datasets as sample_from_datasets
from penstock.data.contrib_transformations import shuffle_and_repeat as shuffle_and_repeat
from penstock.data.contrib_transformations import sliding_window_batch as sliding_window_batch
from penstock.data.contrib_transformations import unbatch as unbatch
from penstock.data.contrib_transformations import unique as unique
from penstock.data.dataset import Dataset as Dataset
from penstock.data.features import make_batched_features_dataset as make_batched_features_dataset
from penstock.data.features import read_batch_features as read_batch_features
from penstock.data.files import FixedLengthRecordDataset as FixedLengthRecordDataset
from penstock.data.files import TFRecordDataset as TFRecordDataset
from penstock.data.files import TextLineDataset as TextLineDataset
from penstock.data.grouping import Reducer as Reducer
from penstock.data.grouping import bucket_by_sequence_length as bucket_by_sequence_length
from penstock.data.grouping import group_by_reducer as group_by_reducer
from penstock.data.grouping import group_by_window as group_by_window
from penstock.data.iterators import Iterator as Iterator
from penstock.data.iterators import make_saveable_from_iterator as make_saveable_from_iterator
from penstock.data.parquet import ParquetDataset as ParquetDataset
from penstock.data.resampling import rejection_resample as rejection_resample
from penstock.data.tables import CsvDataset as CsvDataset
from penstock.data.tables import SqlDataset as SqlDataset
from penstock.data.tables import make_csv_dataset as make_csv_dataset
from penstock.training_loop.input_pipeline_hook import CheckpointInputPipelineHook as CheckpointInputPipelineHook

__all__ = [
    "AUTOTUNE", "map_and_batch", "parallel_interleave", "scan", "Counter", "RandomDataset", "assert_element_shape",
    "batch_and_drop_remainder", "choose_from_datasets", "copy_to_device", "dense_to_sparse_batch", "enumerate_dataset",
    "get_single_element", "ignore_errors", "padded_batch_and_drop_remainder", "prefetch_to_device",
    "sample_from_datasets", "shuffle_and_repeat", "sliding_window_batch", "unbatch", "unique", "Dataset",
    "make_batched_features_dataset", "read_batch_features", "FixedLengthRecordDataset", "TFRecordDataset",
    "TextLineDataset", "Reducer", "bucket_by_sequence_length", "group_by_reducer", "group_by_window", "Iterator",
    "make_saveable_from_iterator", "ParquetDataset", "rejection_resample", "CsvDataset", "SqlDataset",
    "make_csv_dataset", "CheckpointInputPipelineHook"
]
