"""Names of outputs, conditions and shapes that layers share (TF: tf.contrib.layers.utils, tf.contrib.slim.utils)."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.client.variable import Variable
from penstock.graph.constants import constant_value as tensor_value
from penstock.graph.operation import Tensor
from penstock.graph.scopes import add_to_collections, get_collection, get_default_graph
from penstock.ops.control_flow.cond import cond

__all__ = [
    "NamedOutputs",
    "append_tensor_alias",
    "channel_dimension",
    "collect_named_outputs",
    "constant_value",
    "convert_collection_to_dict",
    "gather_tensors_aliases",
    "get_tensor_aliases",
    "get_variable_collections",
    "last_dimension",
    "n_positive_integers",
    "smart_cond",
    "static_cond",
    "two_element_tuple",
]


class NamedOutputs(NamedTuple):
    name: str
    outputs: Any


# --- aliases: the names under which outputs are collected -----------------------------------------------

_ALIASES_KEY = ("__tensor_aliases",)


def _aliases() -> dict[Tensor, list[str]]:
    """The aliases of all tensors of the default graph."""
    held = get_default_graph().get_collection_ref(_ALIASES_KEY)
    if not held:
        held.append({})
    return held[0]


def collect_named_outputs(collections: Any, alias: str, outputs: Any) -> Any:
    """Adds `outputs` to `collections` (if any) under the name `alias`, and returns them."""
    if collections:
        append_tensor_alias(outputs, alias)
        add_to_collections(collections, outputs)
    return outputs


def append_tensor_alias(tensor: Any, alias: str) -> Any:
    """Adds an alias to `tensor`, and returns it."""
    _aliases().setdefault(tensor, []).append(alias.removesuffix("/"))
    return tensor


def get_tensor_aliases(tensor: Any) -> list[str]:
    """The aliases of `tensor`, or its name if it has none."""
    return list(_aliases().get(tensor) or [tensor.name.removesuffix(":0")])


def gather_tensors_aliases(tensors: Any) -> list[str]:
    """The aliases of all `tensors`."""
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def convert_collection_to_dict(collection: Any, clear_collection: bool = False) -> OrderedDict[str, Any]:
    """The tensors of a collection by their aliases: the end points of a network."""
    found = OrderedDict((a, tensor) for tensor in get_collection(collection) for a in get_tensor_aliases(tensor))
    if clear_collection:
        get_default_graph().clear_collection(collection)
    return found


# --- conditions -----------------------------------------------------------------------------------------


def constant_value(value_or_tensor_or_var: Any, dtype: Any = None) -> Any:
    """The value of a constant, None if it is only known in a step; a Python value is returned unchanged.

    Raises ValueError for None, or for a tensor whose dtype is not `dtype`.
    """
    value = value_or_tensor_or_var
    if value is None:
        raise ValueError("value_or_tensor_or_var cannot be None")
    if not isinstance(value, Tensor | Variable):
        return value
    if dtype is not None and value.dtype != dtype:
        raise ValueError(f"{value} has the wrong type {value.dtype} instead of {dtype}")
    return tensor_value(value) if isinstance(value, Tensor) else None


def static_cond(pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any]) -> Any:
    """fn1() or fn2(), by the truth of a Python value."""
    if not callable(fn1) or not callable(fn2):
        raise TypeError(f"fn1 and fn2 must be callable, got {fn1!r} and {fn2!r}")
    return fn1() if pred else fn2()


def smart_cond(pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any], name: str | None = None) -> Any:
    """fn1() or fn2(): one of them if `pred` is known, otherwise a `tf.cond`."""
    known = constant_value(pred)
    return cond(pred, fn1, fn2, name=name) if known is None else static_cond(known, fn1, fn2)


# --- arguments ------------------------------------------------------------------------------------------


def get_variable_collections(variables_collections: Any, name: str) -> Any:
    """The collections for the variable `name`: one list for all variables, or a dict of lists by name."""
    return variables_collections.get(name) if isinstance(variables_collections, dict) else variables_collections


def channel_dimension(shape: Any, data_format: str, min_rank: int = 1) -> int:
    """The size of the channel axis; `data_format` is "channels_first" or "channels_last"."""
    return _dimension(shape, 1 if data_format == "channels_first" else -1, min_rank)


def last_dimension(shape: Any, min_rank: int = 1) -> int:
    """The size of the last axis; raises ValueError if it is unknown, or if the rank is less than `min_rank`."""
    return _dimension(shape, -1, min_rank)


def _dimension(shape: Any, axis: int, min_rank: int) -> int:
    if shape.ndims is None or shape.ndims < min_rank:
        raise ValueError(f"rank of shape must be known and at least {min_rank}, got {shape}")
    size = shape.as_list()[axis]
    if size is None:
        raise ValueError(f"dimension {axis} of shape must be known, got {shape}")
    return size


def two_element_tuple(int_or_tuple: Any) -> tuple[int, int]:
    """One number for height and width, or two; also a shape of two dims."""
    first, second = n_integers(2, int_or_tuple)
    return first, second


def n_positive_integers(n: int, value: Any) -> tuple[int, ...]:
    """`n` positive integers: `value` itself, or `value` for each. Raises ValueError for others."""
    numbers = n_integers(n, value)
    if min(numbers) < 1:
        raise ValueError(f"expected positive integers, got {value!r}")
    return numbers


def n_integers(n: int, value: Any) -> tuple[int, ...]:
    """`n` integers: `value` itself, or `value` for each. Raises ValueError for others."""
    try:
        return (operator.index(value),) * n
    except TypeError:
        pass
    try:
        numbers = tuple(int(v) for v in value)
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) != n:
        raise ValueError(f"expected an integer or {n} of them, got {value!r}")
    return numbers
