"""Nests of lists, tuples, named tuples and dicts (TF: tf.contrib.framework.nest)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock import absent as _absent
from penstock.ops.control_flow.nest import (
    flatten as flatten,
    is_sequence as is_sequence,
    map_structure as map_structure,
    pack_like,
    same_structure,
)


def pack_sequence_as(structure: Any, flat_sequence: Any) -> Any:
    """`flat_sequence` in the shape of `structure`. TypeError for no sequence, ValueError when it does not fit."""
    if not is_sequence(flat_sequence):
        raise TypeError("flat_sequence must be a sequence")
    return pack_like(structure, list(flat_sequence))


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """ValueError unless both have one structure; with `check_types`, TypeError unless of the same types."""
    same_structure(nest1, nest2)
    if check_types:
        _same_types(nest1, nest2)


def _same_types(a: Any, b: Any) -> None:
    if not is_sequence(a):
        return
    if type(a) is not type(b):
        raise TypeError(f"The two structures don't have the same sequence type: {type(a)} and {type(b)}")
    for key in a if isinstance(a, dict) else range(len(a)):
        _same_types(a[key], b[key])


# --- structures of which one is the upper part of the other ---------------------------------------------


def assert_shallow_structure(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> None:
    """TypeError or ValueError unless `shallow_tree` is the upper part of `input_tree`, whose leaves may be nests."""
    if not is_sequence(shallow_tree):
        return
    if not is_sequence(input_tree):
        raise TypeError(f"If shallow structure is a sequence, input must also be a sequence. Input: {input_tree!r}.")
    if check_types and type(shallow_tree) is not type(input_tree):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}."
        )
    if len(shallow_tree) != len(input_tree):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(input_tree)}, while shallow structure has length {len(shallow_tree)}."
        )
    if isinstance(shallow_tree, Mapping) and set(shallow_tree) != set(input_tree):
        raise ValueError(f"The two structures don't have the same keys: {list(input_tree)}, {list(shallow_tree)}.")
    for key, part in _items(shallow_tree):
        assert_shallow_structure(part, input_tree[key], check_types)


def flatten_up_to(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> list[Any]:
    """The parts of `input_tree` where `shallow_tree` has leaves. Errors as of `assert_shallow_structure`."""
    assert_shallow_structure(shallow_tree, input_tree, check_types)
    return _up_to(shallow_tree, input_tree)


def _up_to(shallow: Any, tree: Any) -> list[Any]:
    if not is_sequence(shallow):
        return [tree]
    return [leaf for key, part in _items(shallow) for leaf in _up_to(part, tree[key])]


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any, check_types: bool = True) -> Any:
    """`func` of the parts of all `inputs` where `shallow_tree` has leaves, in its structure."""
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    flat = [flatten_up_to(shallow_tree, tree, check_types) for tree in inputs]
    return pack_like(shallow_tree, [func(*parts) for parts in zip(*flat, strict=True)])


# --- leaves and where they are --------------------------------------------------------------------------


def flatten_with_tuple_paths(structure: Any) -> list[tuple[tuple[Any, ...], Any]]:
    """(path, leaf) for each leaf in order; a path has the keys, indices and names of fields on the way."""
    if not is_sequence(structure):
        return [((), structure)]
    fields = getattr(structure, "_fields", None)
    return [
        ((fields[key] if fields else key, *path), leaf)
        for key, part in _items(structure)
        for path, leaf in flatten_with_tuple_paths(part)
    ]


def flatten_with_joined_string_paths(structure: Any, separator: str = "/") -> list[tuple[str, Any]]:
    """(path, leaf) for each leaf in order, as in ("a/0", leaf)."""
    return [(separator.join(map(str, path)), leaf) for path, leaf in flatten_with_tuple_paths(structure)]


def map_structure_with_paths(func: Callable[..., Any], *structure: Any) -> Any:
    """`func(path, *leaves)` of corresponding leaves, in the structure of the first."""
    for other in structure[1:]:
        same_structure(structure[0], other)
    paths = [path for path, _ in flatten_with_joined_string_paths(structure[0])]
    return pack_like(structure[0], [func(*found) for found in zip(paths, *map(flatten, structure), strict=True)])


def flatten_dict_items(dictionary: Any) -> dict[Any, Any]:
    """The leaves of nests of keys with those of the nests that are their values: {(1, 2): (3, 4)} is {1: 3, 2: 4}.

    ValueError for a key that is there twice.
    """
    found: dict[Any, Any] = {}
    for keys, values in dictionary.items():
        same_structure(keys, values)
        for key, value in zip(flatten(keys), flatten(values), strict=True):
            if key in found:
                raise ValueError(f"Could not flatten dictionary: key {key} is not unique.")
            found[key] = value
    return found


def _items(structure: Any) -> list[tuple[Any, Any]]:
    """(key or index, part), in the order in which `flatten` goes."""
    if isinstance(structure, Mapping):
        return [(key, structure[key]) for key in sorted(structure)]
    return list(enumerate(structure))


_absent.tell_in(__name__)
