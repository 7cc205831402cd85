"""Conditional accumulators of gradients (TF: tf.ConditionalAccumulator, tf.SparseConditionalAccumulator)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.ops.cast import cast
from penstock.tensor.dtypes import DType, as_dtype, int64
from penstock.tensor.shapes import TensorShape


def _as_int64(value: Any) -> Tensor:
    return cast(convert_to_tensor(value), int64)


@export("ConditionalAccumulatorBase")
class ConditionalAccumulatorBase:
    """Collects gradients of the present step, and returns their mean or sum once there are enough.

    It has its own step, which is compared with the `local_step` of a gradient: gradients of earlier steps are dropped.
    """

    _prefix = ""

    def __init__(self, dtype: Any, shape: Any, accumulator_ref: Tensor) -> None:
        self._dtype = as_dtype(dtype)
        self._shape = TensorShape(shape)
        self._accumulator_ref = accumulator_ref
        self._name = accumulator_ref.op.name.split("/")[-1]

    @property
    def accumulator_ref(self) -> Tensor:
        return self._accumulator_ref

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> DType:
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """The number of gradients since the last take; int32."""
        found: Tensor = get_op(f"{self._prefix}AccumulatorNumAccumulated")(
            self._accumulator_ref, name=name or f"{self._name}_NumAccumulated"
        )
        return found

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Operation:
        """Sets the accumulator's step; going back is worth a warning."""
        op: Operation = get_op(f"{self._prefix}AccumulatorSetGlobalStep")(
            self._accumulator_ref, _as_int64(new_global_step), name=name
        )
        return op


@export("ConditionalAccumulator")
class ConditionalAccumulator(ConditionalAccumulatorBase):
    """A conditional accumulator of dense gradients (TF: tf.ConditionalAccumulator)."""

    _prefix = "Resource"

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        """`reduction_type` is "MEAN" or "SUM"."""
        ref = get_op("ResourceConditionalAccumulator")(
            dtype=dtype,
            shape=TensorShape(shape),
            shared_name=shared_name,
            name=name,
            reduction_type=reduction_type,
        )
        super().__init__(dtype, shape, ref)

    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Operation:
        """Adds `grad`, unless it is of an earlier step than the accumulator's. Raises ValueError for a different
        shape."""
        gradient = convert_to_tensor(grad, self._dtype)
        gradient.shape.assert_is_compatible_with(self._shape)
        op: Operation = get_op("ResourceAccumulatorApplyGradient")(
            self._accumulator_ref, _as_int64(local_step), gradient, name=name
        )
        return op

    def take_grad(self, num_required: Any, name: str | None = None) -> Tensor:
        """The mean or sum of all gradients, once there are at least `num_required`; the next step begins with it."""
        found: Tensor = get_op("ResourceAccumulatorTakeGradient")(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )
        found.set_shape(self._shape)
        return found


@export("SparseConditionalAccumulator", "sparse.SparseConditionalAccumulator")
class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """A conditional accumulator of `IndexedSlices` (TF: tf.SparseConditionalAccumulator).

    The mean of a row is over the gradients that contain it.
    """

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        """`reduction_type` is "MEAN" or "SUM"."""
        ref = get_op("SparseConditionalAccumulator")(
            dtype=dtype,
            shape=TensorShape(shape),
            shared_name=shared_name,
            name=name,
            reduction_type=reduction_type,
        )
        super().__init__(dtype, shape, ref)

    def apply_indexed_slices_grad(self, grad: IndexedSlices, local_step: Any = 0, name: str | None = None) -> Operation:
        """Adds `grad`, unless it is of an earlier step than the accumulator's."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: Any,
        grad_values: Any,
        grad_shape: Any = None,
        local_step: Any = 0,
        name: str | None = None,
    ) -> Operation:
        """Adds the gradient whose rows `grad_indices` are `grad_values`, and which is zero elsewhere."""
        known = grad_shape is not None
        op: Operation = get_op("SparseAccumulatorApplyGradient")(
            self._accumulator_ref,
            _as_int64(local_step),
            _as_int64(grad_indices),
            convert_to_tensor(grad_values, self._dtype),
            _as_int64(grad_shape) if known else convert_to_tensor([], int64),
            has_known_shape=known,
            name=name,
        )
        return op

    def take_grad(self, num_required: Any, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """As `ConditionalAccumulator.take_grad`; indices, values and shape, which is -1 where it is unknown."""
        found: tuple[Tensor, Tensor, Tensor] = get_op("SparseAccumulatorTakeGradient")(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )
        return found

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> IndexedSlices:
        """`take_grad` as `IndexedSlices`."""
        indices, values, shape = self.take_grad(num_required, name)
        return IndexedSlices(values, indices, shape)
