"""Nests of lists, tuples, named tuples and dicts (TF: tf.contrib.framework.nest)."""

from __future__ import annotations

from typing import Any

from penstock.control_flow.nest import (
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
