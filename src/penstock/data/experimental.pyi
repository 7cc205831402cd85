# Written by `python -m penstock.api.generate`.
from penstock.data.contrib_functions import map_and_batch as map_and_batch
from penstock.data.contrib_functions import parallel_interleave as parallel_interleave
from penstock.data.contrib_functions import scan as scan
from penstock.data.contrib_functions import take_while as take_while
from penstock.data.grouping import Reducer as Reducer
from penstock.data.grouping import bucket_by_sequence_length as bucket_by_sequence_length
from penstock.data.grouping import group_by_reducer as group_by_reducer
from penstock.data.grouping import group_by_window as group_by_window
from penstock.data.iterators import make_saveable_from_iterator as make_saveable_from_iterator

__all__ = [
    "map_and_batch", "parallel_interleave", "scan", "take_while", "Reducer", "bucket_by_sequence_length",
    "group_by_reducer", "group_by_window", "make_saveable_from_iterator"
]
