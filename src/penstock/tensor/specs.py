"""Descriptions of tensors by shape and dtype (TF: tf.TensorSpec)."""

from __future__ import annotations

from typing import Any, Self

from penstock.export import export
from penstock.tensor.dtypes import DType, as_dtype, float32
from penstock.tensor.shapes import ShapeLike, TensorShape, as_shape


@export("TensorSpec", "contrib.eager.TensorSpec", "contrib.framework.TensorSpec")
class TensorSpec:
    """What is known about a tensor before there is one: its shape, its dtype, and perhaps its name."""

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(self, shape: ShapeLike, dtype: Any = float32, name: str | None = None) -> None:
        self._shape, self._dtype, self._name = as_shape(shape), as_dtype(dtype), name

    @classmethod
    def from_spec(cls, spec: TensorSpec, name: str | None = None) -> Self:
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> Self:
        """That of a tensor, by default with its operation's name."""
        return cls(tensor.shape, tensor.dtype.base_dtype, name or tensor.op.name)

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def is_discrete(self) -> bool:
        """Whether it holds whole numbers."""
        return self._dtype.is_integer

    @property
    def is_continuous(self) -> bool:
        """Whether it holds floats."""
        return self._dtype.is_floating

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Whether a tensor, or another spec, has this dtype and may have this shape."""
        same = self._dtype == spec_or_tensor.dtype.base_dtype
        return bool(same and self._shape.is_compatible_with(spec_or_tensor.shape))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorSpec):
            return NotImplemented
        mine, theirs = (self._shape.tuple, self._dtype, self._name), (other._shape.tuple, other._dtype, other._name)
        return mine == theirs

    def __hash__(self) -> int:
        return hash((self._shape.tuple, self._dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorSpec, (self._shape, self._dtype, self._name)


@export("SparseTensorSpec")
class SparseTensorSpec:
    """What is known about a sparse tensor before there is one: its dense shape and its dtype."""

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: ShapeLike = None, dtype: Any = float32) -> None:
        self._shape, self._dtype = as_shape(shape), as_dtype(dtype)

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dtype(self) -> DType:
        return self._dtype

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a sparse tensor, or another spec, has this dtype and may have this shape."""
        same = self._dtype == spec_or_value.dtype.base_dtype
        return bool(same and self._shape.is_compatible_with(spec_or_value.shape))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseTensorSpec):
            return NotImplemented
        return (self._shape.tuple, self._dtype) == (other._shape.tuple, other._dtype)

    def __hash__(self) -> int:
        return hash((self._shape.tuple, self._dtype))

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self._shape}, {self._dtype!r})"
