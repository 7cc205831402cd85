# Written by `python -m penstock.api.generate`.
from penstock.client.accumulators import SparseConditionalAccumulator as SparseConditionalAccumulator
from penstock.graph.composite import SparseTensor as SparseTensor
from penstock.ops.sparse_arithmetic import sparse_add as add
from penstock.ops.sparse_arithmetic import sparse_maximum as maximum
from penstock.ops.sparse_arithmetic import sparse_minimum as minimum
from penstock.ops.sparse_cross import sparse_cross as cross
from penstock.ops.sparse_cross import sparse_cross_hashed as cross_hashed
from penstock.ops.sparse_functions import sparse_expand_dims as expand_dims
from penstock.ops.sparse_functions import sparse_eye as eye
from penstock.ops.sparse_functions import from_dense as from_dense
from penstock.ops.sparse_functions import sparse_mask as mask
from penstock.ops.sparse_functions import sparse_merge as merge
from penstock.ops.sparse_functions import sparse_placeholder as placeholder
from penstock.ops.sparse_functions import sparse_reset_shape as reset_shape
from penstock.ops.sparse_functions import sparse_retain as retain
from penstock.ops.sparse_functions import sparse_to_indicator as to_indicator
from penstock.ops.sparse_joining import sparse_concat as concat
from penstock.ops.sparse_joining import sparse_split as split
from penstock.ops.sparse_layout import sparse_reorder as reorder
from penstock.ops.sparse_layout import sparse_reshape as reshape
from penstock.ops.sparse_layout import sparse_slice as slice
from penstock.ops.sparse_layout import sparse_transpose as transpose
from penstock.ops.sparse_matmul import sparse_tensor_dense_matmul as matmul
from penstock.ops.sparse_matmul import sparse_tensor_dense_matmul as sparse_dense_matmul
from penstock.ops.sparse_reduce import sparse_reduce_max as reduce_max
from penstock.ops.sparse_reduce import sparse_reduce_max_sparse as reduce_max_sparse
from penstock.ops.sparse_reduce import sparse_reduce_sum as reduce_sum
from penstock.ops.sparse_reduce import sparse_reduce_sum_sparse as reduce_sum_sparse
from penstock.ops.sparse_reduce import sparse_softmax as softmax
from penstock.ops.sparse_rows import sparse_fill_empty_rows as fill_empty_rows
from penstock.ops.sparse_segment import sparse_segment_mean as segment_mean
from penstock.ops.sparse_segment import sparse_segment_sqrt_n as segment_sqrt_n
from penstock.ops.sparse_segment import sparse_segment_sum as segment_sum
from penstock.ops.sparse_to_dense import sparse_tensor_to_dense as to_dense

__all__ = [
    "SparseConditionalAccumulator", "SparseTensor", "add", "maximum", "minimum", "cross", "cross_hashed", "expand_dims",
    "eye", "from_dense", "mask", "merge", "placeholder", "reset_shape", "retain", "to_indicator", "concat", "split",
    "reorder", "reshape", "slice", "transpose", "matmul", "sparse_dense_matmul", "reduce_max", "reduce_max_sparse",
    "reduce_sum", "reduce_sum_sparse", "softmax", "fill_empty_rows", "segment_mean", "segment_sqrt_n", "segment_sum",
    "to_dense"
]
