"""Structures of elements: tuples, named tuples, dicts (by sorted keys) and classes of attrs.

Unlike elsewhere in TensorFlow, a list is not a structure but is converted to a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock.graph.composite import SparseTensorValue


def is_nest(value: Any) -> bool:
    if isinstance(value, tuple | Mapping):
        return not isinstance(value, SparseTensorValue)
    return _attrs_of(value) is not None


def flatten(structure: Any) -> list[Any]:
    """The leaves."""
    if not is_nest(structure):
        return [structure]
    return [leaf for item in _items(structure) for leaf in flatten(item)]


def flatten_up_to(shallow: Any, structure: Any) -> list[Any]:
    """The parts of `structure` at the leaves of `shallow`.

    Raises TypeError or ValueError if its upper part does not have the structure of `shallow`.
    """
    if not is_nest(shallow):
        return [structure]
    _check_alike(shallow, structure)
    pairs = zip(_items(shallow), _items(structure), strict=True)
    return [leaf for inner, item in pairs for leaf in flatten_up_to(inner, item)]


def pack_like(structure: Any, leaves: Any) -> Any:
    """`leaves` packed into the structure of `structure`. Raises ValueError if there are more or fewer."""
    rest = iter(leaves := list(leaves))
    try:
        packed = _pack(structure, rest)
    except StopIteration:
        packed = None
        rest = iter([None])
    if next(rest, rest) is not rest:
        raise ValueError(
            f"Could not pack sequence. Structure had {len(flatten(structure))} elements, but flat_sequence had "
            f"{len(leaves)} elements. Structure: {structure}, flat_sequence: {leaves}."
        )
    return packed


def map_structure(fn: Callable[..., Any], *structures: Any) -> Any:
    """`fn` of the corresponding leaves, in the structure of the first. Raises like `flatten_up_to` if structures
    differ."""
    first = structures[0]
    others = [flatten_up_to(first, other) for other in structures[1:]]
    return pack_like(first, [fn(*leaves) for leaves in zip(flatten(first), *others, strict=True)])


def assert_same_structure(a: Any, b: Any) -> None:
    """Raises TypeError or ValueError unless the two have the same structure."""
    for first, second in ((a, b), (b, a)):
        for leaf in flatten_up_to(first, second):
            if is_nest(leaf):
                raise ValueError(f"The two structures don't have the same nested structure: {a} and {b}")


# --- what a structure is --------------------------------------------------------------------------------


def _attrs_of(value: Any) -> Any:
    return None if isinstance(value, type) else getattr(type(value), "__attrs_attrs__", None)


def _items(structure: Any) -> Iterator[Any]:
    if isinstance(structure, Mapping):
        return (structure[key] for key in sorted(structure))
    attributes = _attrs_of(structure)
    return iter(structure) if attributes is None else (getattr(structure, a.name) for a in attributes)


def _pack(structure: Any, leaves: Iterator[Any]) -> Any:
    if not is_nest(structure):
        return next(leaves)
    if isinstance(structure, Mapping):
        found = {key: _pack(structure[key], leaves) for key in sorted(structure)}
        return type(structure)((key, found[key]) for key in structure)  # type: ignore[call-arg]
    items = [_pack(item, leaves) for item in _items(structure)]
    if _attrs_of(structure) is not None or hasattr(structure, "_fields"):
        return type(structure)(*items)
    return tuple(items)


def _check_alike(shallow: Any, structure: Any) -> None:
    if not is_nest(structure):
        raise TypeError(
            f"If shallow structure is a sequence, input must also be a sequence. Input has type: {type(structure)}."
        )
    if isinstance(shallow, Mapping) != isinstance(structure, Mapping):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(structure)}, while shallow structure has type {type(shallow)}."
        )
    if isinstance(shallow, Mapping):
        if sorted(shallow) != sorted(structure):
            raise ValueError(
                "The two structures don't have the same keys. Input structure has keys "
                f"{list(structure)}, while shallow structure has keys {list(shallow)}."
            )
    elif (count := len(list(_items(structure)))) != len(list(_items(shallow))):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{count}, while shallow structure has length {len(list(_items(shallow)))}."
        )
