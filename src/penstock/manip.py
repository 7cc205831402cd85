"""Rearranging tensors (TF: tf.manip): each function is written where its op is, and listed here."""

from __future__ import annotations

from penstock import absent as _absent
from penstock.ops.array import reshape as reshape
from penstock.ops.array_more import roll as roll
from penstock.ops.gather_nd import gather_nd as gather_nd, scatter_nd as scatter_nd
from penstock.ops.reversing import reverse as reverse, tile as tile
from penstock.ops.space import batch_to_space_nd as batch_to_space_nd, space_to_batch_nd as space_to_batch_nd

__all__ = [
    "batch_to_space_nd",
    "gather_nd",
    "reshape",
    "reverse",
    "roll",
    "scatter_nd",
    "space_to_batch_nd",
    "tile",
]

_absent.tell_in(__name__)
