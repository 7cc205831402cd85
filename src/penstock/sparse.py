"""Operations on sparse tensors (TF: tf.sparse): each is written where its op is, and listed here."""

from __future__ import annotations

import penstock.ops.sparse_maps  # noqa: F401  (its ops are in graphs that batch sparse tensors)
from penstock import absent as _absent
from penstock.graph.composite import SparseTensor as SparseTensor
from penstock.ops.sparse_arithmetic import (
    sparse_add as add,
    sparse_maximum as maximum,
    sparse_minimum as minimum,
)
from penstock.ops.sparse_functions import (
    from_dense as from_dense,
    sparse_expand_dims as expand_dims,
    sparse_eye as eye,
    sparse_mask as mask,
    sparse_merge as merge,
    sparse_placeholder as placeholder,
    sparse_reset_shape as reset_shape,
    sparse_retain as retain,
    sparse_to_indicator as to_indicator,
)
from penstock.ops.sparse_joining import (
    sparse_concat as concat,
    sparse_split as split,
)
from penstock.ops.sparse_layout import (
    sparse_reorder as reorder,
    sparse_reshape as reshape,
    sparse_slice as slice,
    sparse_transpose as transpose,
)
from penstock.ops.sparse_matmul import sparse_tensor_dense_matmul as matmul
from penstock.ops.sparse_reduce import (
    sparse_reduce_max as reduce_max,
    sparse_reduce_max_sparse as reduce_max_sparse,
    sparse_reduce_sum as reduce_sum,
    sparse_reduce_sum_sparse as reduce_sum_sparse,
    sparse_softmax as softmax,
)
from penstock.ops.sparse_rows import sparse_fill_empty_rows as fill_empty_rows
from penstock.ops.sparse_segment import (
    sparse_segment_mean as segment_mean,
    sparse_segment_sqrt_n as segment_sqrt_n,
    sparse_segment_sum as segment_sum,
)
from penstock.ops.sparse_to_dense import sparse_tensor_to_dense as to_dense

sparse_dense_matmul = matmul

__all__ = [
    "SparseTensor",
    "add",
    "concat",
    "expand_dims",
    "eye",
    "fill_empty_rows",
    "from_dense",
    "mask",
    "matmul",
    "maximum",
    "merge",
    "minimum",
    "placeholder",
    "reduce_max",
    "reduce_max_sparse",
    "reduce_sum",
    "reduce_sum_sparse",
    "reorder",
    "reset_shape",
    "reshape",
    "retain",
    "segment_mean",
    "segment_sqrt_n",
    "segment_sum",
    "slice",
    "softmax",
    "sparse_dense_matmul",
    "split",
    "to_dense",
    "to_indicator",
    "transpose",
]

_absent.tell_in(__name__)
