"""Writes TensorFlow's first checkpoint format: one table with names, shapes and values, in a file named as the
checkpoint is (TF: core/util/tensor_slice_writer.cc)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.checkpoint.bundle_files import remove_indexed
from penstock.checkpoint.first_format import FIELDS, VERSION, SavedTensorSlices
from penstock.checkpoint.parts import Part, Shapes
from penstock.checkpoint.replace import Replacement
from penstock.checkpoint.slice_keys import WHOLE_EXTENT, Extent, slice_key
from penstock.checkpoint.sorted_table import dump_table
from penstock.checkpoint.storage import Path, locate, typed
from penstock.checkpoint.tensorflow_types import number_of
from penstock.checkpoint.values import FIXED_TYPES, STRING
from penstock.checkpoint.write_progress import Advance

_MAX_VALUE = (1 << 31) - (1 << 10)
"""Messages have less than 2 GiB; some of it is for what is not the value."""


def write_first_format(prefix: Path, parts: Sequence[Part], shapes: Shapes, advance: Advance) -> None:
    """Make `parts`, encoded by layouts.FIRST, the checkpoint `prefix`, which no index names any more.

    The whole file is made in memory. Raises InvalidArgumentError for a part of 2 GiB or more, or of a type that the
    format does not have.
    """
    listed = SavedTensorSlices()
    listed.meta.versions.producer = VERSION
    described: dict[str, Any] = {}
    items = {}
    for name, (dtype, shape) in shapes.items():
        if dtype != STRING and dtype not in FIELDS:
            raise errors.InvalidArgumentError(None, None, f"tensor {name!r}: the first format has no {dtype}")
        described[name] = listed.meta.tensor.add(name=name, type=number_of(dtype))
        described[name].shape.SetInParent()
        for size in shape:
            described[name].shape.dim.add(size=size)
    for part in parts:
        extents = _extents(part, shapes[part.name][1])
        _add_extents(described[part.name].slice.add(), extents)
        items[slice_key(part.name, extents)] = _message(part, extents)
        advance(part.value.nbytes)
    items[b""] = listed.SerializeToString()
    data = dump_table(sorted(items.items()))
    storage, path = locate(prefix)
    with (
        typed(f"cannot save checkpoint {path}"),
        Replacement(storage, path, clean=lambda: remove_indexed(storage, path)) as replacement,
    ):
        replacement.publish(data)


def _extents(part: Part, shape: Sequence[int]) -> list[Extent]:
    if part.value.shape == tuple(shape):
        return [WHOLE_EXTENT] * len(shape)
    return list(zip(part.start, part.value.shape, strict=True))


def _add_extents(message: Any, extents: Sequence[Extent]) -> None:
    for extent in extents:
        added = message.extent.add()
        if extent != WHOLE_EXTENT:
            added.start, added.length = extent


def _message(part: Part, extents: Sequence[Extent]) -> bytes:
    value = part.value
    if value.nbytes > _MAX_VALUE:
        raise errors.InvalidArgumentError(
            None, None, f"tensor {part.name!r} has {value.nbytes} bytes; the first format has less than 2 GiB for each"
        )
    message = SavedTensorSlices()
    message.data.name = part.name
    message.data.slice.SetInParent()
    _add_extents(message.data.slice, extents)
    content = bytes(value.take())
    data = message.data.data
    data.SetInParent()
    if value.dtype == STRING:
        data.MergeFromString(content)
        return bytes(message.SerializeToString())
    field = FIELDS[value.dtype]
    if isinstance(getattr(data, field), bytes):
        setattr(data, field, content)
    else:
        numpy = FIXED_TYPES[value.dtype].numpy
        plain = np.dtype(numpy[0]) if numpy.names else numpy  # of quantised numbers
        bits = np.dtype(np.uint16) if field == "half_val" else plain
        getattr(data, field).extend(np.frombuffer(content, bits).astype(np.int64).tolist())
    return bytes(message.SerializeToString())
