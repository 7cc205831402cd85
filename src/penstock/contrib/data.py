"""Dataset transformations that are not methods of `tf.data.Dataset` (TF: tf.contrib.data)."""

from penstock.api.namespace import open_namespace
from penstock.api.old_paths import add_inner_paths, add_module
from penstock.data import threadpool

open_namespace(__name__)
add_inner_paths(
    __name__,
    "python.ops.batching python.ops.counter python.ops.dataset_ops python.ops.enumerate_ops python.ops.error_ops "
    "python.ops.get_single_element python.ops.grouping python.ops.interleave_ops python.ops.iterator_ops "
    "python.ops.prefetching_ops python.ops.random_ops python.ops.readers python.ops.resampling python.ops.scan_ops "
    "python.ops.shuffle_ops python.ops.sliding python.ops.sources python.ops.unique",
)
add_module(f"{__name__}.python.ops.threadpool", threadpool)
