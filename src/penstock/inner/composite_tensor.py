"""Values that consist of several tensors (TF: tensorflow.python.framework.composite_tensor, type_spec)."""

from __future__ import annotations

from abc import ABCMeta

from penstock.graph.composite import IndexedSlices, SparseTensor


class CompositeTensor(metaclass=ABCMeta):  # noqa: B024 (it is registered with)
    """Sparse tensors, IndexedSlices, and what libraries derive from it."""


CompositeTensor.register(SparseTensor)
CompositeTensor.register(IndexedSlices)


class TypeSpec:
    """Base class of libraries' descriptions of such values."""


class BatchableTypeSpec(TypeSpec):
    """Base class of descriptions of values that can be parts of batches."""
