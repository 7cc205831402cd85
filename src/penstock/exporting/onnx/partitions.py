"""Rows taken apart and put together by numbers, added by segment; beams followed back to their first step."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.exporting.onnx.rules import Site, lowers
from penstock.tensor.dtypes import int32, int64

_FAR = np.iinfo(np.int64).max


@lowers("DynamicPartition")
def partition(s: Site) -> Any:
    numbers = s.vector(1)
    rows = _flat(s, 0, s.rank(1))
    parts = [s.op("Compress", [rows, s.op("Equal", [numbers, s.ints(i)])], axis=0) for i in range(s["num_partitions"])]
    return parts if len(parts) > 1 else parts[0]


@lowers("DynamicStitch", "ParallelDynamicStitch")
def stitch(s: Site) -> Any:
    """Inputs: N indices, N tensors of rows."""
    n = s["N"]
    indices = s.op("Concat", [s.vector(i) for i in range(n)], axis=0)
    rows = s.op("Concat", [_flat(s, n + i, s.rank(i)) for i in range(n)], axis=0)
    last = s.op("ReduceMax", [s.op("Concat", [indices, s.ints(-1)], axis=0)], keepdims=1)
    shape = s.op("Concat", [s.op("Add", [last, s.ints(1)]), _sizes_from(s, rows, 1)], axis=0)
    zeros = s.op("Expand", [s.constant(0, n), shape])
    return s.op("ScatterND", [zeros, s.op("Unsqueeze", [indices, s.ints(-1)]), rows])


@lowers("UnsortedSegmentSum")
def unsorted_segment_sum(s: Site) -> Any:
    """Rows of a negative segment are in none: they are added to one more, which is cut off."""
    count, segments = s.vector(2), s.vector(1)
    rows = _flat(s, 0, s.rank(1))
    places = s.op("Where", [s.op("Less", [segments, s.ints(0)]), count, segments])
    shape = s.op("Concat", [s.op("Add", [count, s.ints(1)]), _sizes_from(s, rows, 1)], axis=0)
    zeros = s.op("Expand", [s.constant(0), shape])
    sums = s.op("ScatterND", [zeros, s.op("Unsqueeze", [places, s.ints(-1)]), rows], reduction="add")
    return s.op("Slice", [sums, s.ints(0), count, s.ints(0)])


def _flat(s: Site, index: int, dims: int) -> str:
    """An input with its first `dims` dimensions as one."""
    value = s.input(index)
    if dims == 1:
        return value
    rest = _sizes_from(s, value, dims)
    return str(s.op("Reshape", [value, s.op("Concat", [s.ints(-1), rest], axis=0)]))


def _sizes_from(s: Site, value: str, first: int) -> str:
    return str(s.op("Slice", [s.op("Shape", [value]), s.ints(first), s.ints(_FAR)]))


@lowers("GatherTree")
def gather_tree(s: Site) -> Any:
    """Inputs: steps and parents [time, batch, beams], lengths [batch], the end's id. It scans time backwards."""
    steps, parents, end = s.input(0), s.int64(1), s.input(3)
    shape = s.op("Shape", [steps])
    time, width = (s.op("Slice", [shape, s.ints(i), s.ints(i + 1)]) for i in (0, 2))
    zero, one = (s.lowering.constant(np.array(n, np.int64)) for n in (0, 1))
    numbers = [s.op("Range", [zero, s.op("Squeeze", [count, s.ints(0)]), one]) for count in (time, width)]
    lengths = s.op("Unsqueeze", [s.vector(2), s.ints(0)])
    within = s.op("Less", [s.op("Unsqueeze", [numbers[0], s.ints(1)]), lengths])
    within = s.op("Unsqueeze", [within, s.ints(2)])
    beam = s.op("Expand", [numbers[1], s.op("Slice", [shape, s.ints(1), s.ints(3)])])

    def step(beam: str, step: str, parent: str, within: str) -> list[str]:
        before = s.op("Where", [within, s.op("GatherElements", [parent, beam], axis=1), beam])
        return [before, s.op("Where", [within, s.op("GatherElements", [step, beam], axis=1), end])]

    _, beams = s.scan_backwards(step, beam, [steps, parents, within], [(int64, 2), (s.node.dtypes[0], 2)])
    ends = s.cast(s.op("Equal", [beams, end]), int32)
    ended = s.op("Greater", [s.op("CumSum", [ends, zero]), s.lowering.constant(np.array(0, np.int32))])
    return s.op("Where", [ended, end, beams])
