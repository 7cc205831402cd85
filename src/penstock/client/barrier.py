"""Barriers in a graph (TF: data_flow_ops.Barrier)."""

from __future__ import annotations

from typing import Any

from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Operation, Tensor
from penstock.ops.data_flow.barrier import BARRIER, CLOSE, INCOMPLETE_SIZE, INSERT_MANY, READY_SIZE, TAKE_MANY
from penstock.tensor.dtypes import as_dtype, string
from penstock.tensor.shapes import TensorShape


class Barrier:
    """Elements with string keys, whose components arrive one by one; complete ones can be taken.

    They come out in the order in which their keys arrived.
    """

    def __init__(self, types: Any, shapes: Any = None, shared_name: str | None = None, name: str = "barrier") -> None:
        """`types` and `shapes`: one of each, or lists. Raises ValueError for a shape without elements."""
        dtypes = [as_dtype(dtype) for dtype in (types if isinstance(types, list | tuple) else [types])]
        if shapes is None:
            known = [TensorShape(None)] * len(dtypes)
        else:
            one = isinstance(shapes, TensorShape) or all(isinstance(dim, int) for dim in shapes)
            known = [TensorShape(shape) for shape in ([shapes] if one else shapes)]
        if len(known) != len(dtypes):
            raise ValueError(f"{len(dtypes)} component types, but {len(known)} shapes")
        for i, shape in enumerate(known):
            if shape.num_elements() == 0:
                raise ValueError(f"Empty tensors are not supported, but received shape '{shape}' at index {i}")
        self._types, self._shapes = dtypes, known
        self._barrier_ref = BARRIER(component_types=dtypes, shapes=known, shared_name=shared_name, name=name)
        self._name = self._barrier_ref.op.name.split("/")[-1]

    @property
    def barrier_ref(self) -> Tensor:
        return self._barrier_ref

    @property
    def name(self) -> str:
        return self._barrier_ref.op.name

    def insert_many(self, component_index: int, keys: Any, values: Any, name: str | None = None) -> Operation:
        """Sets component `component_index` of the elements of `keys`, a vector, to the rows of `values`."""
        op: Operation = INSERT_MANY(
            self._barrier_ref,
            convert_to_tensor(keys, string),
            values,
            component_index=component_index,
            name=name or f"{self._name}_BarrierInsertMany",
        )
        return op

    def take_many(
        self, num_elements: Any, allow_small_batch: bool = False, timeout: int | None = None, name: str | None = None
    ) -> Any:
        """Takes `num_elements` complete elements: when their keys arrived (from -2**63), the keys, and the components.

        Waits until there are enough. With `allow_small_batch` a closed barrier returns what it has.
        """
        return TAKE_MANY(
            self._barrier_ref,
            num_elements,
            component_types=self._types,
            allow_small_batch=allow_small_batch,
            timeout_ms=-1 if timeout is None else timeout,
            name=name or f"{self._name}_BarrierTakeMany",
        )

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Rejects new keys from now on, and with `cancel_pending_enqueues` gives up incomplete elements."""
        op: Operation = CLOSE(
            self._barrier_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or f"{self._name}_BarrierClose",
        )
        return op

    def ready_size(self, name: str | None = None) -> Tensor:
        """The number of complete elements; int32."""
        found: Tensor = READY_SIZE(self._barrier_ref, name=name or f"{self._name}_BarrierReadySize")
        return found

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """The number of elements that lack components; int32."""
        found: Tensor = INCOMPLETE_SIZE(self._barrier_ref, name=name or f"{self._name}_BarrierIncompleteSize")
        return found
