"""From a call (`MATMUL(x, w, transpose_b=True)`) to a node: inputs converted, attributes inferred and checked."""

from __future__ import annotations

import contextlib
from collections import namedtuple
from typing import Any

from penstock.graph.attributes import check_attr, complete_attrs, show_dtype
from penstock.graph.convert import DtypeMismatchError, convert_to_tensor
from penstock.graph.opdef import NO_DEFAULT, ArgDef, OpDef
from penstock.graph.operation import Tensor
from penstock.graph.operators import operator_function
from penstock.graph.scopes import get_default_graph, graph_of
from penstock.tensor.dtypes import DType, as_dtype

"""How many inputs or outputs of one kind a node may have: a larger attribute is an error, or would waste memory."""


@operator_function
def apply_op(op_def: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None) -> Any:
    """Add a node of `op_def` to the current graph; see `OpDef.__call__`."""
    values = _bind(op_def, args, kwargs)
    attrs = {k: check_attr(op_def, op_def.attrs[k], v) for k, v in kwargs.items() if v is not None}
    graph = graph_of(_flat(values))
    if graph is not get_default_graph():
        with graph.as_default():
            return _build(op_def, values, attrs, name)
    return _build(op_def, values, attrs, name)


def _build(op_def: OpDef, values: list[Any], attrs: dict[str, Any], name: str | None) -> Any:
    graph = get_default_graph()
    inputs: list[Tensor] = []
    mutable: list[Tensor] = []
    with graph.name_scope(name or op_def.name) as scope:  # a constant made for an input is "MatMul/b", as in TF
        for arg, value in zip(op_def.inputs, values, strict=True):
            tensors = _convert(op_def, arg, value, attrs, values)
            inputs += tensors
            mutable += tensors if arg.is_ref else []
    attrs = complete_attrs(op_def, inputs, attrs)
    with contextlib.ExitStack() as stack:
        for tensor in mutable:  # what changes a variable stays on its device
            stack.enter_context(graph.colocate_with(tensor.op))
        return results(graph.add_node(op_def, inputs, attrs, scope))


def results(op: Any) -> Any:
    """The outputs of a node in the form that the caller gets."""
    outputs, grouped = op._outputs, []
    if not op.op_def.outputs:
        return op
    position = 0
    for arg in op.op_def.outputs:
        count = len(arg.dtypes(op.attrs))
        part = outputs[position : position + count]
        grouped.append(list(part) if arg.is_list else part[0])
        position += count
    return grouped[0] if len(grouped) == 1 else _named(op.op_def)._make(grouped)


def _named(op_def: OpDef) -> Any:
    """The class of tuples of an op's outputs, with their names, as TensorFlow's functions of ops give them."""
    found = op_def.derived.get("named outputs")
    if found is None:
        names = [arg.name for arg in op_def.outputs]
        found = op_def.derived["named outputs"] = namedtuple(op_def.name.lstrip("_"), names, rename=True)
    return found


def _bind(op_def: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The input values in the order of the signature; what is left in `kwargs` are attributes."""
    if len(args) > len(op_def.inputs):
        raise TypeError(f"{op_def.name} takes {len(op_def.inputs)} inputs ({_names(op_def)}), got {len(args)}")
    values = list(args)
    for arg in op_def.inputs[len(args) :]:
        if arg.name not in kwargs:
            raise TypeError(f"{op_def.name} misses its input {arg.name!r}")
        values.append(kwargs.pop(arg.name))
    for key in kwargs:
        if key not in op_def.attrs:
            known = ", ".join(op_def.attrs) or "none"
            raise TypeError(
                f"{op_def.name} has no input or attribute {key!r}; inputs: {_names(op_def)}; attributes: {known}"
            )
    return values


def _names(op_def: OpDef) -> str:
    return ", ".join(arg.name for arg in op_def.inputs) or "none"


def _flat(values: list[Any]) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        if isinstance(value, list | tuple):
            flat += value
        else:
            flat.append(value)
    return flat


def _convert(op_def: OpDef, arg: ArgDef, value: Any, attrs: dict[str, Any], values: list[Any]) -> list[Tensor]:
    """The tensors of one argument; attributes that they determine are added to `attrs`."""
    if arg.is_list:
        if not isinstance(value, list | tuple):
            raise TypeError(f"input {arg.name!r} of {op_def.name} takes a list, got {type(value).__name__}")
        if arg.type_list_attr is not None:
            dtypes = attrs.get(arg.type_list_attr) or [None] * len(value)
            pairs = enumerate(zip(value, dtypes, strict=True))
            tensors = [_tensor(op_def, arg, v, d, None, f"{arg.name}_{i}", values) for i, (v, d) in pairs]
            _settle(op_def, arg, arg.type_list_attr, [t.dtype.base_dtype for t in tensors], attrs)
            return tensors
        _settle(op_def, arg, str(arg.number_attr), len(value), attrs)
        items = list(value)
    else:
        items = [value]
    dtype, preferred = arg.dtype, None
    if arg.type_attr is not None:
        dtype = attrs.get(arg.type_attr) or _dtype_among(op_def, arg.type_attr, values)
        default = op_def.attrs[arg.type_attr].default
        preferred = None if default is NO_DEFAULT else default
    tensors = []
    for i, item in enumerate(items):
        name = f"{arg.name}_{i}" if arg.is_list else arg.name
        tensors.append(_tensor(op_def, arg, item, dtype, preferred, name, values))
        dtype = dtype or tensors[0].dtype.base_dtype
    if arg.type_attr is not None and tensors:
        _settle(op_def, arg, arg.type_attr, tensors[0].dtype.base_dtype, attrs)
    return tensors


def _dtype_among(op_def: OpDef, type_attr: str, values: list[Any]) -> DType | None:
    """The dtype of the first tensor among the inputs that share `type_attr`: a Python number follows it."""
    for arg, value in zip(op_def.inputs, values, strict=True):
        if arg.type_attr == type_attr:
            for item in value if arg.is_list and isinstance(value, list | tuple) else [value]:
                if isinstance(item, Tensor) or hasattr(item, "_as_graph_element"):
                    return as_dtype(item.dtype).base_dtype
    return None


def _tensor(
    op_def: OpDef,
    arg: ArgDef,
    value: Any,
    dtype: DType | None,
    preferred: DType | None,
    name: str,
    values: list[Any],
) -> Tensor:
    if arg.is_ref:
        ref = value._ref() if hasattr(value, "_ref") else value
        if not isinstance(ref, Tensor) or not ref.dtype._is_ref_dtype:
            raise TypeError(f"input {arg.name!r} of {op_def.name} must be a mutable tensor (a variable), got {value!r}")
        return ref
    try:
        return convert_to_tensor(value, dtype, name=name, preferred_dtype=preferred)
    except (TypeError, ValueError) as error:
        where = f"input {arg.name!r} of {op_def.name}"
        if dtype is not None and isinstance(error, DtypeMismatchError):
            where = _misfit(op_def, arg, as_dtype(value.dtype), dtype, values)
        raise type(error)(f"{where}: {error}") from None


def _misfit(op_def: OpDef, arg: ArgDef, have: DType, dtype: DType, values: list[Any]) -> str:
    """Which input has a type other than `dtype`, and which earlier input requires `dtype`."""
    before = op_def.inputs[: op_def.inputs.index(arg)] if arg.type_attr is not None else []
    same = [
        a.name for a, v in zip(before, values, strict=False) if a.type_attr == arg.type_attr and hasattr(v, "dtype")
    ]
    wanted = f"type {dtype.name} of argument {same[0]!r}" if same else f"expected type of {dtype.name}"
    return f"Input {arg.name!r} of {op_def.name!r} Op has type {have.base_dtype.name} that does not match {wanted}"


def _settle(op_def: OpDef, arg: ArgDef, attr: str, found: Any, attrs: dict[str, Any]) -> None:
    if attrs.setdefault(attr, found) != found:
        raise TypeError(
            f"input {arg.name!r} of {op_def.name} is {show_dtype(found)}, but {attr} is {show_dtype(attrs[attr])}"
        )
