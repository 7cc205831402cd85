"""The attributes of a node: inferred from its inputs, defaulted, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph.graph_function import GraphFunction
from penstock.graph.opdef import NO_DEFAULT, ArgDef, AttrDef, OpDef
from penstock.graph.operation import Tensor
from penstock.tensor.dtypes import DType, as_dtype
from penstock.tensor.shapes import TensorShape

_MOST_TENSORS = 1 << 16


def check_counts(op_def: OpDef, attrs: dict[str, Any]) -> None:
    """Raises ValueError if an attribute says that more tensors are an argument than can be."""
    for arg in (*op_def.inputs, *op_def.outputs):
        count = attrs.get(arg.number_attr, 0) if arg.number_attr else 0
        if count > _MOST_TENSORS:
            raise ValueError(
                f"{op_def.name} with {arg.number_attr} = {count}: at most {_MOST_TENSORS} can be its {arg.name!r}"
            )


def complete_attrs(op_def: OpDef, inputs: list[Tensor], attrs: dict[str, Any]) -> dict[str, Any]:
    """Checks attributes and infers missing ones from `inputs` or takes their defaults; raises TypeError otherwise.

    Attributes starting with "_" belong to the system and are not checked, as in TF.
    """
    position = 0
    settled = {k: v for k, v in attrs.items() if k.startswith("_") or k in op_def.attrs}
    check_counts(op_def, settled)
    for arg in op_def.inputs:
        if arg.type_attr and arg.type_attr not in settled and position < len(inputs) and not arg.number_attr:
            settled[arg.type_attr] = inputs[position].dtype.base_dtype
        position += 0 if arg.is_list and not _countable(arg, settled) else len(arg.dtypes(_with_types(arg, settled)))
    for name, attr in op_def.attrs.items():
        if name not in settled:
            if attr.default is NO_DEFAULT:
                raise TypeError(f"{op_def.name} needs the attribute {name!r}")
            settled[name] = attr.default
        _check_limits(op_def, attr, settled[name])
    wanted = [d.base_dtype for arg in op_def.inputs for d in arg.dtypes(settled)]
    if len(wanted) != len(inputs):
        raise ValueError(f"{op_def.name} takes {len(wanted)} input tensors with these attributes, got {len(inputs)}")
    for dtype, tensor in zip(wanted, inputs, strict=True):
        if tensor.dtype.base_dtype != dtype:
            raise TypeError(f"{op_def.name} takes {dtype.name} here, got {tensor}, which is {tensor.dtype.name}")
    return settled


def _countable(arg: ArgDef, attrs: dict[str, Any]) -> bool:
    return (arg.number_attr or arg.type_list_attr) in attrs


def _with_types(arg: ArgDef, attrs: dict[str, Any]) -> dict[str, Any]:
    return attrs if arg.type_attr is None or arg.type_attr in attrs else {**attrs, arg.type_attr: as_dtype("float")}


def _check_limits(op_def: OpDef, attr: AttrDef, value: Any) -> None:
    items = value if isinstance(value, list) else [value]
    if attr.allowed is not None:
        for item in items:
            if item not in attr.allowed:
                shown = ", ".join(show_dtype(a) if isinstance(a, DType) else a.decode() for a in attr.allowed)
                if isinstance(item, DType):
                    raise TypeError(
                        f"Value {show_dtype(item)!r} for attr {attr.name!r} of {op_def.name} is not among the "
                        f"allowed values: {shown}. Convert the input with tf.cast."
                    )
                said = item.decode(errors="replace") if isinstance(item, bytes) else item
                raise ValueError(f"Attr {attr.name!r} of {op_def.name!r} Op passed {said!r} not in: {shown}.")
    if attr.minimum is not None:
        size = len(value) if isinstance(value, list) else value
        if size < attr.minimum:
            raise ValueError(f"Value {value!r} for attr {attr.name!r} of {op_def.name} must be at least {attr.minimum}")


def show_dtype(value: Any) -> str:
    return value.name if isinstance(value, DType) else str(value)


def check_attr(op_def: OpDef, attr: AttrDef, value: Any) -> Any:
    """`value` as the Python object that an attribute of this type is kept as; raises raises TypeError if it cannot
    be."""
    try:
        if attr.type.startswith("list("):
            if isinstance(value, str | bytes):
                raise TypeError("expected a list")
            return [_attr_value(attr.type[5:-1], item) for item in value]
        return _attr_value(attr.type, value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"attr {attr.name!r} of {op_def.name} is of type {attr.type}, got {value!r}: {error}") from None


def _attr_value(kind: str, value: Any) -> Any:
    match kind:
        case "type":
            return as_dtype(value).base_dtype
        case "shape":
            return TensorShape(value)
        case "int":
            if isinstance(value, str | bytes):
                raise TypeError("expected an int")
            return int(value)  # of a float, too, as programs pass quotients and times
        case "float":
            if isinstance(value, str | bytes):
                raise TypeError("expected a float")
            return float(value)
        case "bool":
            if not isinstance(value, bool | np.bool_):
                raise TypeError("expected a bool")
            return bool(value)
        case "string":
            if not isinstance(value, str | bytes):
                raise TypeError("expected a string")
            return value.encode() if isinstance(value, str) else value
        case "func":
            if not isinstance(value, GraphFunction):
                raise TypeError("expected a graph function")
            return value
        case _:
            return value  # tensor: an array
