"""Staging areas in a graph (TF: tf.contrib.staging.StagingArea, data_flow_ops.MapStagingArea)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import colocate_with, get_default_graph, name_scope
from penstock.ops.basic import identity, no_op
from penstock.tensor.dtypes import DType, as_dtype
from penstock.tensor.shapes import TensorShape

Names = Sequence[str] | None


class BaseStagingArea:
    """Elements, each a tuple of tensors, that stay on the device of the area until a step takes them.

    With `names`, elements are dictionaries. Areas with the same `shared_name` share their elements. Steps wait while
    the area has `capacity` elements or its elements take `memory_limit` bytes; 0 means no limit.
    """

    def __init__(
        self,
        dtypes: Sequence[Any],
        shapes: Sequence[Any] | None = None,
        names: Names = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        if shared_name is not None and not isinstance(shared_name, str):
            raise ValueError(f"shared_name must be a string, got {shared_name}")
        self._dtypes = [as_dtype(dtype) for dtype in dtypes]
        for what, given in (("shapes", shapes), ("names", names)):
            if given is not None and len(given) != len(self._dtypes):
                raise ValueError(f"StagingArea {what} must be the same length as dtypes")
        self._shapes = [TensorShape(shape) for shape in shapes or [None] * len(self._dtypes)]
        self._names = None if names is None else list(names)
        self._capacity, self._memory_limit = capacity, memory_limit
        self._name = get_default_graph().unique_name(type(self).__name__) if shared_name is None else shared_name
        with name_scope(f"{self._name}_root"):
            self._coloc_op = no_op()

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtypes(self) -> list[DType]:
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        return self._names

    @property
    def capacity(self) -> int:
        return self._capacity

    @property
    def memory_limit(self) -> int:
        return self._memory_limit

    def _op(self, kind: str, *inputs: Any, name: str, dtypes: Sequence[DType] | None = None) -> Any:
        """An op on this area. `dtypes` is inferred if it is None."""
        attrs = {} if dtypes is None else {"dtypes": list(dtypes)}
        room = {"capacity": self._capacity, "memory_limit": self._memory_limit}
        with colocate_with(self._coloc_op):
            return get_op(kind)(*inputs, shared_name=self._name, name=name, **room, **attrs)

    def _given(self, vals: Any, indices: Sequence[int]) -> tuple[list[Tensor], list[int]]:
        """The tensors of `vals` with their indices: those of their names, or otherwise `indices`."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(vals) <= set(self._names):
                raise ValueError(
                    "Keys in dictionary to put do not match names of staging area. "
                    f"Dictionary: {sorted(vals)}, names: {sorted(self._names)}"
                )
            indices = [i for i, name in enumerate(self._names) if name in vals]
            vals = [vals[self._names[i]] for i in indices]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a staging area with names")
        if len(indices) != len(vals):
            raise ValueError(f"Number of indices {len(indices)} doesn't match number of values {len(vals)}")
        if len(vals) > len(self._dtypes):
            raise ValueError(f"Unexpected number of inputs {len(vals)} vs {len(self._dtypes)}")
        return [self._component(val, i) for val, i in zip(vals, indices, strict=True)], list(indices)

    def _component(self, val: Any, index: int) -> Tensor:
        dtype = self._dtypes[index]
        tensor = val if isinstance(val, Tensor) else convert_to_tensor(val, dtype, name=f"component_{index}")
        if tensor.dtype.base_dtype != dtype:
            raise ValueError(f"Datatypes do not match. Received val.dtype {tensor.dtype} and dtype {dtype}")
        tensor.shape.assert_is_compatible_with(self._shapes[index])
        return tensor

    def _returned(self, tensors: Iterable[Tensor], indices: Sequence[int]) -> Any:
        """`tensors` with their shapes and names, on the current device."""
        tensors = self._here(tensors)
        for tensor, index in zip(tensors, indices, strict=True):
            tensor.set_shape(self._shapes[index])
        if self._names:
            return {self._names[i]: tensor for i, tensor in zip(indices, tensors, strict=True)}
        return tensors

    def _here(self, tensors: Iterable[Tensor]) -> list[Tensor]:
        moves = no_op().device != self._coloc_op.device
        return [identity(tensor) if moves else tensor for tensor in tensors]


@export("contrib.staging.StagingArea")
class StagingArea(BaseStagingArea):
    """A staging area that returns its oldest element first (TF: tf.contrib.staging.StagingArea).

    A training loop that puts the next batch while it computes with the previous one runs `get` and `put` in one step.
    """

    def put(self, values: Any, name: str | None = None) -> Operation:
        """Adds an element: a tensor, a list of tensors, or with names a dictionary. Waits while the area is full."""
        values = values if isinstance(values, list | tuple | dict) else [values]
        with name_scope(name, f"{self._name}_put", values.values() if isinstance(values, dict) else values) as scope:
            tensors, _ = self._given(values, range(len(values)))
            op: Operation = self._op("Stage", tensors, name=scope)
            return op

    def get(self, name: str | None = None) -> Any:
        """Takes the oldest element; waits while the area is empty."""
        found = self._op("Unstage", name=name or f"{self._name}_get", dtypes=self._dtypes)
        return self._returned(found, range(len(self._dtypes)))

    def peek(self, index: Any, name: str | None = None) -> Any:
        """Copies the element at `index`; waits until it exists."""
        found = self._op("StagePeek", index, name=name or f"{self._name}_peek", dtypes=self._dtypes)
        return self._returned(found, range(len(self._dtypes)))

    def size(self, name: str | None = None) -> Tensor:
        found: Tensor = self._op("StageSize", name=name or f"{self._name}_size", dtypes=self._dtypes)
        return found

    def clear(self, name: str | None = None) -> Operation:
        op: Operation = self._op("StageClear", name=name or f"{self._name}_clear", dtypes=self._dtypes)
        return op


class MapStagingArea(BaseStagingArea):
    """A staging area whose elements have int64 keys, and may arrive in parts (TF: data_flow_ops.MapStagingArea)."""

    def __init__(
        self,
        dtypes: Sequence[Any],
        shapes: Sequence[Any] | None = None,
        names: Names = None,
        shared_name: str | None = None,
        ordered: bool = False,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        """If `ordered`, `get` without a key takes the element with the smallest key."""
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._prefix = "OrderedMap" if ordered else "Map"

    def put(self, key: Any, vals: Any, indices: Sequence[int] | None = None, name: str | None = None) -> Operation:
        """Adds values to the element `key`. `indices` says which ones, unless `vals` is a dictionary."""
        if indices is None and not isinstance(vals, dict):
            raise ValueError("Indices must be supplied when inserting a list of tensors")
        vals = vals if isinstance(vals, list | tuple | dict) else [vals]
        with name_scope(name, f"{self._name}_put", vals.values() if isinstance(vals, dict) else vals) as scope:
            tensors, places = self._given(vals, indices or [])
            op: Operation = self._op(f"{self._prefix}Stage", key, places, tensors, name=scope, dtypes=self._dtypes)
            return op

    def get(self, key: Any = None, indices: Sequence[Any] | None = None, name: str | None = None) -> tuple[Any, Any]:
        """Takes the element `key`, or any if it is None, or only those of its values that `indices` says.

        Returns the key and the values; waits until the element is complete. `indices` are numbers or names.
        """
        places, dtypes = self._places(indices)
        if key is not None:
            found = self._op(f"{self._prefix}Unstage", key, places, name=name or f"{self._name}_get", dtypes=dtypes)
            return key, self._returned(found, places)
        taken, found = self._op(
            f"{self._prefix}UnstageNoKey", places, name=name or f"{self._name}_get_nokey", dtypes=dtypes
        )
        return self._here([taken])[0], self._returned(found, places)

    def peek(self, key: Any, indices: Sequence[Any] | None = None, name: str | None = None) -> Any:
        """Copies values of the element `key`; waits until it is complete."""
        places, dtypes = self._places(indices)
        found = self._op(f"{self._prefix}Peek", key, places, name=name or f"{self._name}_pop", dtypes=dtypes)
        return self._returned(found, places)

    def size(self, name: str | None = None) -> Tensor:
        """The number of complete elements; int32."""
        return self._count("Size", name or f"{self._name}_size")

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """The number of elements that lack values; int32."""
        return self._count("IncompleteSize", name or f"{self._name}_incomplete_size")

    def clear(self, name: str | None = None) -> Operation:
        op: Operation = self._op(f"{self._prefix}Clear", name=name or f"{self._name}_clear", dtypes=self._dtypes)
        return op

    def _count(self, what: str, name: str) -> Tensor:
        found: Tensor = self._op(self._prefix + what, name=name, dtypes=self._dtypes)
        return found

    def _places(self, indices: Sequence[Any] | None) -> tuple[list[int], list[DType]]:
        """The numbers of the values that `indices` names, and their dtypes."""
        if indices is None:
            indices = range(len(self._dtypes))
        elif not isinstance(indices, list | tuple):
            raise TypeError(f"Invalid indices type {type(indices)}")
        if not indices:
            raise ValueError("Empty indices")
        if all(isinstance(index, str) for index in indices):
            names = self._names
            if names is None:
                raise ValueError(
                    f"String indices provided {indices}, but this Staging Area was not created with names."
                )
            if not set(indices) <= set(names):
                raise ValueError(f"Named index not in Staging Area names {names}")
            indices = [names.index(str(index)) for index in indices]
        elif not all(isinstance(index, int) for index in indices):
            raise TypeError(f"Mixed types in indices {indices}. May only be str or int")
        return list(indices), [self._dtypes[i] for i in indices]
