"""What a `Saver` saves: each variable, its name in the checkpoint, and how it is restored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.client.partitioned_variable import PartitionedVariable
from penstock.client.resource_variable import ResourceVariable
from penstock.client.variable import Variable
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import get_default_graph
from penstock.ops.state import assign
from penstock.tensor.dtypes import DType, as_dtype
from penstock.tensor.shapes import TensorShape


class SaveSpec:
    """One tensor of a checkpoint: its value, which part of the whole it is ("" for all), and its name."""

    def __init__(self, tensor: Any, slice_spec: str, name: str, dtype: Any = None, device: Any = None) -> None:
        self._tensor = tensor
        self.slice_spec = slice_spec
        self.name = name
        self.dtype = as_dtype(self.tensor.dtype if dtype is None else dtype).base_dtype
        self.device = self.tensor.device if device is None and not callable(tensor) else device

    @property
    def tensor(self) -> Any:
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """Base class of what savers can save. `restore` returns the operation that sets it.

    TF: BaseSaverBuilder.SaveableObject; tables and readers of users derive from it.
    """

    def __init__(self, op: Any, specs: list[SaveSpec], name: str) -> None:
        self.op = op
        self.specs = specs
        self.name = name

    @property
    def device(self) -> Any:
        return self.specs[0].device

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Any) -> Operation:
        raise NotImplementedError("Calling an abstract method.")


@dataclass
class SaveableVariable:
    """A variable. `reference` is its edge, `saved` the one whose value is saved."""

    variable: Any
    reference: Tensor
    saved: Tensor
    name: str
    slice_spec: str
    shape: TensorShape
    assign: Callable[[Tensor, bool], Any]

    @property
    def dtype(self) -> DType:
        return self.saved.dtype.base_dtype

    @property
    def op(self) -> Operation:
        return self.reference.op

    def restore(self, tensor: Tensor, reshape: bool) -> Operation:
        if reshape and self.shape.is_fully_defined():
            tensor = get_op("Reshape")(tensor, convert_to_tensor(self.shape.as_list(), "int32"))
        with get_default_graph().colocate_with(self.reference.op):
            done = self.assign(tensor, self.shape.is_fully_defined())
        return done.op if isinstance(done, Tensor) else done


def saveable_of(variable: Any, name: str, spec: str) -> SaveableVariable:
    """Raises TypeError for what is not a variable."""
    if not isinstance(variable, Variable):
        return _saveable_of_tensor(variable, name)
    if isinstance(variable, ResourceVariable):
        handle = variable.handle

        def set_resource(tensor: Tensor, validate: bool) -> Any:
            return get_op("AssignVariableOp")(handle, tensor, validate_shape=validate)

        element = variable._as_graph_element()
        return SaveableVariable(variable, handle, element, name, spec, variable.shape, set_resource)
    return _of_reference(variable, variable._handle_tensor(), name, spec)


def _of_reference(variable: Any, ref: Tensor, name: str, spec: str) -> SaveableVariable:
    def set_reference(tensor: Tensor, validate: bool) -> Any:
        return assign(ref, tensor, validate_shape=validate)

    return SaveableVariable(variable, ref, ref, name, spec, ref.shape, set_reference)


def _saveable_of_tensor(value: Any, name: str) -> SaveableVariable:
    if isinstance(value, Tensor) and value.dtype._is_ref_dtype:
        return _of_reference(value, value, name, "")
    raise TypeError(f"Variable to save is not a Variable: {value}")


_SEVERAL = list | tuple | PartitionedVariable


def saveables_of(var_list: Any) -> list[Any]:
    """What `var_list` (a list, or a dict from names in the checkpoint) says to save, by name.

    Raises ValueError for two variables under one name or one under two names, TypeError for what cannot be saved.
    """
    found: dict[tuple[str, str], Any] = {}
    operations: set[Any] = set()
    for name, spec, item in _of_dict(var_list) if isinstance(var_list, Mapping) else _of_list(var_list):
        saveable = item if isinstance(item, SaveableObject) else saveable_of(item, name, spec)
        key = (saveable.name, spec)
        if key in found:
            raise ValueError(f"At least two variables have the same name: {saveable.name}")
        if saveable.op in operations:
            raise ValueError(f"The same saveable will be restored with two names: {saveable.name}")
        found[key] = saveable
        operations.add(saveable.op)
    return [found[key] for key in sorted(found)]


Named = tuple[str, str, Any]
"""A name in the checkpoint, which part of the tensor of that name it is ("" for all), and what is saved there."""


def _of_dict(variables: Mapping[Any, Any]) -> Iterator[Named]:
    """A variable is saved whole, although it may be a part of one; several are the parts of one."""
    for name, item in variables.items():
        if not isinstance(name, str):
            raise TypeError(f"names_to_saveables must be a dict mapping string names to variables, not {name!r}")
        if not isinstance(item, _SEVERAL):
            yield name, "", item
            continue
        of = None
        for part in item:
            info = _slice_info(part)
            if info is None:
                raise ValueError(f"Slices must all be slices: {part}")
            if of not in (None, info.full_name):
                raise ValueError(f"Slices must all be from the same tensor: {of} != {info.full_name}")
            of = info.full_name
            yield name, info.spec, part


def _of_list(variables: Iterable[Any]) -> Iterator[Named]:
    """Variables have their own names, and parts that of the whole."""
    taken: dict[str, bool] = {}
    for item in variables:
        if isinstance(item, PartitionedVariable):
            _take(taken, item.name, False)
            yield from _of_dict({item.name: item})
            continue
        for each in item if isinstance(item, list | tuple) else [item]:
            if isinstance(each, SaveableObject):
                yield each.name, "", each
                continue
            info = _slice_info(each)
            name = _own_name(each) if info is None else info.full_name or _own_name(each)
            _take(taken, name, info is not None)
            yield name, "" if info is None else info.spec, each


def _take(taken: dict[str, bool], name: str, shared: bool) -> None:
    """Whether a name is shared by parts that are listed one by one is kept in `taken`."""
    if taken.setdefault(name, shared) != shared:
        raise ValueError(f"Mixing slices and non-slices with the same name: {name}")


def _slice_info(item: Any) -> Any:
    return item._get_save_slice_info() if isinstance(item, Variable) else None


def _own_name(item: Any) -> str:
    if isinstance(item, ResourceVariable):
        return item._shared_name
    if isinstance(item, Variable | Tensor):
        return item.op.name
    raise TypeError(f"Variable to save is not a Variable: {item}")
