"""Nests of lists, tuples, named tuples and dicts: taken apart and put together (TF: tf.contrib.framework.nest)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def is_sequence(value: Any) -> bool:
    return isinstance(value, list | tuple | Mapping)


def flatten(structure: Any) -> list[Any]:
    """The leaves, in order; those of a dict in the order of its sorted keys."""
    if isinstance(structure, Mapping):
        return [leaf for key in sorted(structure) for leaf in flatten(structure[key])]
    if isinstance(structure, list | tuple):
        return [leaf for item in structure for leaf in flatten(item)]
    return [structure]


def pack_like(structure: Any, leaves: list[Any]) -> Any:
    """`leaves` in the shape of `structure`. ValueError when their number does not fit."""
    rest = list(leaves)
    packed = _take(structure, rest)
    if rest:
        raise ValueError(f"{len(leaves)} leaves for a structure of {len(leaves) - len(rest)}")
    return packed


def _take(structure: Any, rest: list[Any]) -> Any:
    if isinstance(structure, Mapping):
        found = {key: _take(structure[key], rest) for key in sorted(structure)}
        ordered = {key: found[key] for key in structure}
        kind: Any = type(structure)
        return ordered if kind is dict else kind(ordered)
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*(_take(item, rest) for item in structure))
    if isinstance(structure, list | tuple):
        items = [_take(item, rest) for item in structure]
        return tuple(items) if isinstance(structure, tuple) else items
    if not rest:
        raise ValueError("too few leaves for the structure")
    return rest.pop(0)


def same_structure(a: Any, b: Any, check_types: bool = False) -> None:
    """ValueError unless the two have the same structure.

    Lists and tuples count as the same; with `check_types` a TypeError says that they differ.
    """
    if is_sequence(a) != is_sequence(b):
        raise ValueError(f"The two structures don't have the same nested structure: {a!r} and {b!r}")
    if not is_sequence(a):
        return
    if isinstance(a, Mapping) != isinstance(b, Mapping) or len(a) != len(b):
        raise ValueError(f"The two structures don't have the same number of elements: {a!r} and {b!r}")
    if isinstance(a, Mapping) and set(a) != set(b):
        raise ValueError(f"The two structures don't have the same keys: {list(a)} and {list(b)}")
    if check_types and isinstance(a, tuple) != isinstance(b, tuple):
        raise TypeError(f"The two structures don't have the same sequence type: {type(a)} and {type(b)}")
    keys = list(a) if isinstance(a, Mapping) else range(len(a))
    for key in keys:
        same_structure(a[key], b[key], check_types)


def map_structure(fn: Any, *structures: Any) -> Any:
    """`fn` of the corresponding leaves, in the structure of the first."""
    for other in structures[1:]:
        same_structure(structures[0], other)
    return pack_like(structures[0], [fn(*leaves) for leaves in zip(*map(flatten, structures), strict=True)])
