"""What an estimator kept of the tensors that it was fitted with (TF: contrib.learn.estimators.tensor_signature)."""

from __future__ import annotations

from typing import Any, NamedTuple

from penstock.graph.composite import SparseTensor
from penstock.graph.operation import Tensor
from penstock.ops.basic import placeholder
from penstock.ops.cast import cast
from penstock.ops.parsing import FixedLenFeature, VarLenFeature, parse_example
from penstock.ops.sparse_functions import sparse_placeholder
from penstock.tensor.dtypes import DType, float32, float64, int32, int64
from penstock.tensor.shapes import TensorShape

_PARSED_AS = {int32: int64, float64: float32}
"""Examples hold no other numbers."""


class _Fields(NamedTuple):
    dtype: DType
    shape: TensorShape | None
    is_sparse: bool


class TensorSignature(_Fields):
    """Dtype and shape of a tensor; the shape of a SparseTensor is None."""

    def __new__(cls, tensor: Any) -> TensorSignature:
        if isinstance(tensor, SparseTensor):
            return super().__new__(cls, tensor.values.dtype, None, True)
        return super().__new__(cls, tensor.dtype, tensor.get_shape(), False)

    def is_compatible_with(self, other: Any) -> bool:
        """Whether dtypes are compatible, and shapes but for the first dimension."""
        if self.is_sparse or other.is_sparse:
            return self.is_sparse == other.is_sparse and self.dtype.is_compatible_with(other.dtype)
        mine, theirs = TensorShape(self.shape), TensorShape(other.shape)
        if mine.ndims is None or theirs.ndims is None:
            fits = True
        else:
            fits = mine.ndims == theirs.ndims and mine[1:].is_compatible_with(theirs[1:])
        return self.dtype.is_compatible_with(other.dtype) and fits

    def _of_example(self) -> list[int | None]:
        return [] if self.shape is None else self.shape.as_list()[1:]

    def get_placeholder(self) -> Any:
        """A placeholder of this dtype and shape, with any first dimension."""
        return (
            sparse_placeholder(self.dtype) if self.is_sparse else placeholder(self.dtype, [None, *self._of_example()])
        )

    def get_feature_spec(self) -> Any:
        """How `tf.parse_example` reads it."""
        dtype = _PARSED_AS.get(self.dtype, self.dtype)
        return VarLenFeature(dtype) if self.is_sparse else FixedLenFeature(self._of_example(), dtype)


def create_signatures(tensors: Any) -> Any:
    """The signature of a tensor, or a dict of those of a dict; None of None."""
    if isinstance(tensors, dict):
        return {key: TensorSignature(tensor) for key, tensor in tensors.items()}
    return None if tensors is None else TensorSignature(tensors)


def tensors_compatible(tensors: Any, signatures: Any) -> bool:
    """Whether the tensors, or for a dict of signatures those of their keys, are compatible with the signatures."""
    if tensors is None:
        return signatures is None
    if not isinstance(tensors, dict):
        known = signatures is not None and not isinstance(signatures, dict)
        return known and TensorSignature(tensors).is_compatible_with(signatures)
    return isinstance(signatures, dict) and all(
        key in tensors and TensorSignature(tensors[key]).is_compatible_with(wanted)
        for key, wanted in signatures.items()
    )


def create_placeholders_from_signatures(signatures: Any) -> Any:
    """A placeholder for a signature, or a dict of them for a dict; None for None."""
    if isinstance(signatures, dict):
        return {key: each.get_placeholder() for key, each in signatures.items()}
    return None if signatures is None else signatures.get_placeholder()


def create_example_parser_from_signatures(
    signatures: Any, examples_batch: Any, single_feature_name: str = "feature"
) -> Any:
    """The tensors that serialized examples [n] hold: a dict as `signatures`, or the one of `single_feature_name`."""
    wanted = signatures if isinstance(signatures, dict) else {single_feature_name: signatures}
    parsed = parse_example(examples_batch, {key: each.get_feature_spec() for key, each in wanted.items()})
    found: dict[str, Tensor] = {
        key: tensor if wanted[key].dtype.is_compatible_with(tensor.dtype) else cast(tensor, wanted[key].dtype)
        for key, tensor in parsed.items()
    }
    return found if isinstance(signatures, dict) else found[single_feature_name]
