"""Histories of beams, reordered by the final beams."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.ops.array import reshape, shape
from penstock.ops.broadcasting import broadcast_to
from penstock.ops.cast import cast
from penstock.ops.filling import sequence_mask
from penstock.ops.gather_nd import gather_nd
from penstock.ops.gather_tree import gather_tree
from penstock.ops.layout import transpose
from penstock.ops.partition import where
from penstock.ops.reduce import reduce_max
from penstock.ops.sequences import range as range_
from penstock.ops.stacking import stack


@export("contrib.seq2seq.gather_tree_from_array")
def gather_tree_from_array(t: Any, parent_ids: Any, sequence_length: Any) -> Tensor:
    """`t`, [time, batch, beam, ...] or [time, batch beam, ...], reordered by each beam's ancestors.

    parent_ids: [time, batch, beam]. sequence_length: [batch, beam]; later steps are not moved (TF:
    tf.contrib.seq2seq.gather_tree_from_array).
    """
    dims = shape(parent_ids)
    places = broadcast_to(reshape(range_(dims[2]), [1, 1, -1]), dims)
    return along_beams(convert_to_tensor(t), places, parent_ids, sequence_length)


def along_beams(t: Tensor, places: Tensor, parent_ids: Any, sequence_length: Any) -> Tensor:
    """`t` reordered along beams; `places`, like `parent_ids`, says where in `t` each step of a beam is."""
    dims = shape(parent_ids)
    time, batch, width = dims[0], dims[1], dims[2]
    here = broadcast_to(reshape(range_(width), [1, 1, -1]), dims)
    longest = cast(reduce_max(sequence_length, 1), "int32")
    from_beam = gather_tree(places, parent_ids, longest, width + 1)
    within = transpose(sequence_mask(sequence_length, time), [2, 0, 1])
    from_beam = where(within, from_beam, here)
    times = broadcast_to(reshape(range_(time), [-1, 1, 1]), dims)
    rows = broadcast_to(reshape(range_(batch), [1, -1, 1]), dims)
    found = gather_nd(reshape(t, [time, batch, width, -1]), stack([times, rows, from_beam], -1))
    found = reshape(found, shape(t))
    found.set_shape(t.shape)
    return found
