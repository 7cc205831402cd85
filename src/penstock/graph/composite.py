"""Values made of several tensors: `IndexedSlices` (sparse gradients) and `SparseTensor`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from penstock.export import export
from penstock.graph.constants import constant_value_as_shape
from penstock.graph.convert import convert_to_tensor, register_tensor_conversion_function
from penstock.graph.default_session import session_for
from penstock.graph.graph import Graph
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.operators import call
from penstock.graph.scopes import name_scope
from penstock.old_names import old_arguments
from penstock.tensor.dtypes import DType, as_dtype, int64
from penstock.tensor.shapes import TensorShape


@export("IndexedSlicesValue")
class IndexedSlicesValue(NamedTuple):
    """A fetched `IndexedSlices`."""

    values: np.ndarray
    indices: np.ndarray
    dense_shape: np.ndarray | None


@export("SparseTensorValue")
class SparseTensorValue(NamedTuple):
    """A fetched `SparseTensor`, or one to feed: indices [n, rank] int64, values [n], dense_shape [rank] int64."""

    indices: Any
    values: Any
    dense_shape: Any


@export("IndexedSlices")
class IndexedSlices:
    """Slices of a larger tensor along its first axis: row `indices[i]` of it is `values[i]` (repeats add up).

    The gradient of a gather, for instance; optimizers update only those rows.
    """

    _is_indexed_slices = True

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def values(self) -> Tensor:
        return self._values

    @property
    def indices(self) -> Tensor:
        return self._indices

    @property
    def dense_shape(self) -> Tensor | None:
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        return TensorShape(None) if self._dense_shape is None else constant_value_as_shape(self._dense_shape)

    @property
    def name(self) -> str:
        return self.values.name

    @property
    def device(self) -> str:
        return self.values.device

    @property
    def op(self) -> Operation:
        return self.values.op

    @property
    def dtype(self) -> DType:
        return self.values.dtype

    @property
    def graph(self) -> Graph:
        return self._values.graph

    def __str__(self) -> str:
        shape = "" if self._dense_shape is None else f", dense_shape={self._dense_shape}"
        return f"IndexedSlices(indices={self._indices}, values={self._values}{shape})"

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self.values, self.indices, self.dense_shape)


@export("SparseTensor", "sparse.SparseTensor")
class SparseTensor:
    """A tensor that stores only some of its elements (TF: tf.SparseTensor).

    indices [n, rank] int64, values [n] of any dtype, dense_shape [rank] int64.
    """

    __array_priority__ = 100  # so that `ndarray * sparse` asks the sparse tensor

    @old_arguments("tf.SparseTensor", "tf.SparseTensor(indices, values, dense_shape)", renamed={"shape": "dense_shape"})
    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        with name_scope(None, "SparseTensor", [indices, values, dense_shape]):
            self._indices = convert_to_tensor(indices, int64, name="indices")
            self._values = convert_to_tensor(values, name="values")
            self._dense_shape = convert_to_tensor(dense_shape, int64, name="dense_shape")
        indices_shape = self._indices.shape.with_rank(2)
        values_shape = self._values.shape.with_rank(1)
        rank_shape = self._dense_shape.shape.with_rank(1)
        indices_shape[0].assert_is_compatible_with(values_shape[0])
        indices_shape[1].assert_is_compatible_with(rank_shape[0])
        self._static_shape: TensorShape | None = None  # what is known about it even though it is fed

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        return sparse_tensor_value if isinstance(sparse_tensor_value, SparseTensor) else cls(*sparse_tensor_value)

    @property
    def indices(self) -> Tensor:
        return self._indices

    @property
    def values(self) -> Tensor:
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        return constant_value_as_shape(self._dense_shape) if self._static_shape is None else self._static_shape

    def get_shape(self) -> TensorShape:
        return self.shape

    @property
    def op(self) -> Operation:
        return self.values.op

    @property
    def dtype(self) -> DType:
        return self.values.dtype

    @property
    def graph(self) -> Graph:
        return self._indices.graph

    def eval(self, feed_dict: Any = None, session: Any = None) -> SparseTensorValue:
        return session_for(self._values, session, "eval").run(self, feed_dict)

    def __mul__(self, other: Any) -> SparseTensor:
        """The elements times those of a dense tensor, broadcast."""
        return call("sparse_times_dense", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> SparseTensor:
        """The elements over those of a dense tensor, broadcast."""
        return call("sparse_over_dense", self, other)

    def __add__(self, other: Any) -> Any:
        """The sum with a tensor of the same shape: sparse if both are, otherwise dense (tf.sparse_add)."""
        return call("sparse_add", self, other)

    __radd__ = __add__

    def __str__(self) -> str:
        return f"SparseTensor(indices={self._indices}, values={self._values}, dense_shape={self._dense_shape})"


def _indexed_slices_to_tensor(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    """The dense tensor, with zeros in rows that are in no slice."""
    if value.dense_shape is None:
        raise ValueError(f"Tensor conversion requested for IndexedSlices without dense_shape: {value}")
    with name_scope(name or "IndexedSlicesToTensor") as scope:
        rows = get_op("StridedSlice")(value.dense_shape, [0], [1], [1], shrink_axis_mask=1)
        return get_op("UnsortedSegmentSum")(value.values, value.indices, rows, name=scope)


def _sparse_to_tensor(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    raise TypeError(f"{value} is sparse; use tf.sparse_tensor_to_dense or an op that takes sparse tensors.")


register_tensor_conversion_function(IndexedSlices, _indexed_slices_to_tensor, 99)
register_tensor_conversion_function(SparseTensor, _sparse_to_tensor, 99)


def of_sparse(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Makes `fn`, which must map zero to zero, accept sparse tensors as well: it is applied to their values."""

    @functools.wraps(fn)
    def either(*args: Any, **options: Any) -> Any:
        x = args[0] if args else next(iter(options.values()), None)
        if not isinstance(x, SparseTensor):
            return fn(*args, **options)
        rest = args[1:] or [value for value in options.values() if value is not x]
        return SparseTensor(x.indices, fn(x.values, *rest), x.dense_shape)

    return either


@export("convert_to_tensor_or_sparse_tensor")
def convert_to_tensor_or_sparse_tensor(value: Any, dtype: Any = None, name: str | None = None) -> Tensor | SparseTensor:
    """`value` as a SparseTensor if it is one or the value of one, otherwise as a tensor."""
    if not isinstance(value, SparseTensor | SparseTensorValue):
        return convert_to_tensor(value, dtype, name=name)
    sparse = SparseTensor.from_value(value)
    if dtype is not None and as_dtype(dtype).base_dtype != sparse.dtype:
        raise RuntimeError(f"Sparse dtype: requested = {as_dtype(dtype).name}, actual = {sparse.dtype.name}")
    return sparse


@export("convert_to_tensor_or_indexed_slices")
def convert_to_tensor_or_indexed_slices(
    value: Any, dtype: Any = None, name: str | None = None
) -> Tensor | IndexedSlices:
    """`value` itself if it is IndexedSlices, otherwise as a tensor."""
    return value if isinstance(value, IndexedSlices) else convert_to_tensor(value, dtype, name=name)
