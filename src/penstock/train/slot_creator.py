"""Slots: variables that belong to another one (momentum, moving average), with names that checkpoints keep."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from penstock.client.initializers import zeros_initializer
from penstock.client.resource_variable import ResourceVariable
from penstock.client.variable import SaveSliceInfo, Variable
from penstock.client.variable_scope import _unique_name, pure_variable_scope
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.scopes import get_default_graph
from penstock.tensor.dtypes import as_dtype
from penstock.tensor.shapes import TensorShape


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True) -> Any:
    """A variable `{primary}/{name}` with the initial value `val`; not trained, on the device of `primary`.

    Its shape is that of `val` if it is known. TF: slot_creator.create_slot.
    """
    value = convert_to_tensor(val)
    return _create(primary, value, name, colocate_with_primary, value.shape.is_fully_defined())


def create_slot_with_initializer(
    primary: Any, initializer: Any, shape: Any, dtype: Any, name: str, colocate_with_primary: bool = True
) -> Any:
    """A slot with the initial value `initializer(shape, dtype)`."""
    known, kind = TensorShape(shape), as_dtype(dtype).base_dtype
    validate = known.is_fully_defined()
    dims: Any = known.as_list() if validate else shape

    def initial_value() -> Any:
        return initializer(dims, dtype=kind)

    return _create(primary, initial_value, name, colocate_with_primary, validate)


def create_zeros_slot(primary: Any, name: str, dtype: Any = None, colocate_with_primary: bool = True) -> Any:
    """A slot of zeros with the shape of `primary`."""
    dtype = as_dtype(primary.dtype if dtype is None else dtype).base_dtype
    shape = primary.get_shape()
    if shape.is_fully_defined():
        return create_slot_with_initializer(primary, zeros_initializer(), shape, dtype, name, colocate_with_primary)
    start = primary.initialized_value() if isinstance(primary, Variable) else primary
    zero = convert_to_tensor(0, dtype)
    return create_slot(primary, get_op("Fill")(get_op("Shape")(start), zero), name, colocate_with_primary)


def _create(primary: Any, initial_value: Any, name: str, colocate: bool, validate_shape: bool) -> Any:
    with _slot_scope(f"{primary.op.name}/{name}") as full_name, contextlib.ExitStack() as stack:
        if colocate:
            stack.enter_context(get_default_graph().colocate_with(primary.op))
        slot: Any = Variable(
            initial_value,
            trainable=False,
            validate_shape=validate_shape,
            name=full_name,
            use_resource=isinstance(primary, ResourceVariable),
        )
    info = primary._get_save_slice_info() if isinstance(primary, Variable) else None
    if info is not None:  # the slots of a part of a variable are parts of larger slots
        own = slot.op.name.rpartition(f"{primary.op.name}/")[2]  # with its number if there are two
        if list(info.var_shape) == list(info.full_shape):
            # In a variable scope the slot's name begins with that of the scope, but TensorFlow takes off as much all
            # the same: its checkpoints of DNNClassifier have "dnn/logits/bias/t_0/Adagrad". Of several parts, each
            # would have such a name, and none the whole slot.
            own = slot.op.name[len(primary.op.name) + 1 :]
        slot._set_save_slice_info(
            SaveSliceInfo(f"{info.full_name}/{own}", info.full_shape, info.var_offset, info.var_shape)
        )
    return slot


@contextlib.contextmanager
def _slot_scope(name: str) -> Iterator[str]:
    """`name` in the variable scope, with "_1" and so on if it is taken; name scopes do not matter."""
    with pure_variable_scope(_unique_name(name)) as scope, get_default_graph().name_scope(None):
        yield scope.name
