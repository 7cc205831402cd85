"""Nests of sequences, named tuples, mappings and attrs classes (TF: tf.contrib.framework.nest)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock import absent as _absent
from penstock.nested import tree
from penstock.ops.control_flow.nest import flatten as flatten, is_sequence as is_sequence

is_nested = is_sequence


def pack_sequence_as(structure: Any, flat_sequence: Any) -> Any:
    """`flat_sequence` packed into the structure of `structure`. Raises TypeError for what is not a sequence, ValueError
    if it does not fit."""
    return tree.unflatten_as(structure, flat_sequence)


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Raises ValueError unless both have the same structure; with `check_types`, TypeError unless the types are the
    same."""
    tree.assert_same_structure(nest1, nest2, check_types)


def map_structure(func: Callable[..., Any], *structure: Any, check_types: bool = True) -> Any:
    """`func` of the corresponding leaves, in the structure of the first. Raises the errors of
    `assert_same_structure`."""
    return tree.map_structure(func, *structure, check_types=check_types)


# --- structures one of which is the upper part of the other ---------------------------------------------


def flatten_up_to(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> list[Any]:
    """The parts of `input_tree` at the leaves of `shallow_tree`. Raises the errors of `assert_shallow_structure`."""
    return tree.flatten_up_to(shallow_tree, input_tree, check_types)


def assert_shallow_structure(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> None:
    """Raises TypeError or ValueError unless `shallow_tree` is the upper part of `input_tree`, whose leaves may be
    nests."""
    flatten_up_to(shallow_tree, input_tree, check_types)


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any, check_types: bool = True) -> Any:
    """`func` of the parts of all `inputs` at the leaves of `shallow_tree`, in its structure."""
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    flat = [flatten_up_to(shallow_tree, nest, check_types) for nest in inputs]
    return pack_sequence_as(shallow_tree, [func(*parts) for parts in zip(*flat, strict=True)])


# --- leaves and their paths --------------------------------------------------------------------------


def flatten_with_tuple_paths(structure: Any) -> list[tuple[tuple[Any, ...], Any]]:
    """(path, leaf) for each leaf in order; a path consists of keys, indices and field names."""
    return tree.flatten_with_path(structure)


def flatten_with_joined_string_paths(structure: Any, separator: str = "/") -> list[tuple[str, Any]]:
    """(path, leaf) for each leaf in order, as in ("a/0", leaf)."""
    return [(separator.join(map(str, path)), leaf) for path, leaf in flatten_with_tuple_paths(structure)]


def map_structure_with_paths(func: Callable[..., Any], *structure: Any, check_types: bool = True) -> Any:
    """`func(path, *leaves)` of corresponding leaves, in the structure of the first."""
    paths = [path for path, _ in flatten_with_joined_string_paths(structure[0])]
    return map_structure(func, pack_sequence_as(structure[0], paths), *structure, check_types=check_types)


def flatten_dict_items(dictionary: Mapping[Any, Any]) -> dict[Any, Any]:
    """Flattens keys that are nests together with their values: {(1, 2): (3, 4)} becomes {1: 3, 2: 4}.

    The value of a key that is not a nest stays whole. Raises ValueError for a duplicate key.
    """
    if not isinstance(dictionary, Mapping):
        raise TypeError(f"flatten_dict_items takes a mapping, not {type(dictionary).__name__}")
    found: dict[Any, Any] = {}
    for keys, values in dictionary.items():
        for key, value in zip(flatten(keys), flatten_up_to(keys, values, check_types=False), strict=True):
            if key in found:
                raise ValueError(f"Could not flatten dictionary: key {key} is not unique.")
            found[key] = value
    return found


def _is_namedtuple(instance: Any, strict: bool = False) -> bool:
    """Whether it is a named tuple; with `strict`, of no class derived from one (TF: nest._is_namedtuple)."""
    is_one = isinstance(instance, tuple) and isinstance(getattr(instance, "_fields", None), tuple)
    return is_one and (not strict or type(instance).__base__ is tuple)


_absent.tell_in(__name__)
