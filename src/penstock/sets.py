"""Sets (TF: tf.sets): written in ops/sets.py, and listed here, under the names of TF 1.x and under the short ones."""

from __future__ import annotations

from penstock import absent as _absent
from penstock.ops.sets import (
    set_difference as set_difference,
    set_intersection as set_intersection,
    set_size as set_size,
    set_union as set_union,
)

difference = set_difference
intersection = set_intersection
size = set_size
union = set_union

__all__ = [
    "difference",
    "intersection",
    "set_difference",
    "set_intersection",
    "set_size",
    "set_union",
    "size",
    "union",
]

_absent.tell_in(__name__)
