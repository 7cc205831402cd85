"""How the items of a SequenceExample are made of its ragged sequences: see `tfexample_decoder`."""

from __future__ import annotations

from typing import Any

from penstock.contrib.slim.item_handlers import ItemHandler, prefixed
from penstock.graph.composite import SparseTensor as Sparse
from penstock.graph.convert import constant
from penstock.graph.scopes import control_dependencies
from penstock.ops.array import shape as shape_of
from penstock.ops.basic import identity
from penstock.ops.cast import to_int64
from penstock.ops.checks import assert_equal
from penstock.ops.joining import concat
from penstock.ops.padding import pad
from penstock.ops.reduce import reduce_max
from penstock.ops.sparse_joining import sparse_concat
from penstock.ops.sparse_layout import sparse_reshape
from penstock.ops.sparse_to_dense import sparse_tensor_to_dense
from penstock.tensor.dtypes import int64


class _Together(ItemHandler):
    """Sparse [time, n] features, one beside the other: [time, n, keys], dense with `default_value` or sparse."""

    _keys_by_default: tuple[str, ...]

    def __init__(
        self, keys: Any = None, prefix: str | None = None, return_dense: bool = True, default_value: float = -1.0
    ) -> None:
        super().__init__(prefixed(type(self).__name__, keys, self._keys_by_default, prefix))
        self._return_dense = return_dense
        self._default_value = default_value

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        parts = []
        for key in self.keys:
            part = keys_to_tensors[key]
            parts.append(sparse_reshape(part, concat([to_int64(shape_of(part)), constant([1], int64)], 0)))
        item = sparse_concat(2, parts)
        return sparse_tensor_to_dense(item, default_value=self._default_value) if self._return_dense else item


class BoundingBoxSequence(_Together):
    """The boxes of each frame, [time, n, 4]: see `BoundingBox`."""

    _keys_by_default = ("ymin", "xmin", "ymax", "xmax")


class KeypointsSequence(_Together):
    """The points of each frame, [time, n, 2], of the features y and x."""

    _keys_by_default = ("y", "x")


class NumBoxesSequence(ItemHandler):
    """How many boxes each frame has, [time], by the first of the sparse [time, n] features `keys`.

    check_consistency: a step raises InvalidArgumentError if the others have other numbers.
    """

    def __init__(self, keys: Any = None, check_consistency: bool = True) -> None:
        if not keys:
            raise ValueError("keys must not be empty.")
        super().__init__(keys)
        self._check_consistency = check_consistency

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        first, *others = self.keys
        count = _counts(keys_to_tensors[first])
        checked = others if self._check_consistency else []
        with control_dependencies([assert_equal(count, _counts(keys_to_tensors[key])) for key in checked]):
            return identity(count)


def _counts(tensor: Any) -> Any:
    """How long each row of a sparse matrix is, of which only the ends of rows are missing."""
    if not isinstance(tensor, Sparse):
        raise ValueError("tensor must be of type tf.SparseTensor.")
    columns = Sparse(tensor.indices, tensor.indices[:, 1], tensor.dense_shape)
    ends = sparse_tensor_to_dense(columns, default_value=-1) + 1
    return reduce_max(pad(ends, [[0, 0], [0, 1]]), axis=1)  # a column of zeros, for a matrix without columns
