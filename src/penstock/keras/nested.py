"""One value or a list of them, as Keras' arguments may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def flat(value: Any) -> list[Any]:
    """The elements of a list or tuple; None is none, and anything else one."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def one_or_list(values: list[Any]) -> Any:
    """The only element, or the list."""
    return values[0] if len(values) == 1 else values


def unique(*lists: list[Any]) -> list[Any]:
    """The elements of all lists, each once."""
    found: dict[int, Any] = {}
    for values in lists:
        for value in values:
            found.setdefault(id(value), value)
    return list(found.values())


def leaves(value: Any) -> list[Any]:
    """The elements of what layers are called with: a tensor, a list, or a dict, by its sorted keys."""
    return [value[key] for key in sorted(value)] if isinstance(value, dict) else flat(value)


def nested_leaves(value: Any) -> list[Any]:
    """The leaves of leaves, however deep; a None that is an element is one."""
    if not isinstance(value, list | tuple | dict):
        return [value]
    return [leaf for element in leaves(value) for leaf in nested_leaves(element)]


def structure_of(value: Any) -> Callable[[list[Any]], Any]:
    """A function that puts other elements in the place of the `leaves` of `value`."""
    if isinstance(value, dict):
        keys = sorted(value)
        return lambda elements: dict(zip(keys, elements, strict=True))
    return list if isinstance(value, list | tuple) else _only


def _only(elements: list[Any]) -> Any:
    return elements[0]
