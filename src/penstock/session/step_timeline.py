"""`StepTimeline`: a step's trace for Chrome's viewer, chrome://tracing or ui.perfetto.dev."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

Event = dict[str, Any]


class StepTimeline:
    """The trace in `run_metadata.step_stats`, as text that the viewer loads (TF: Timeline)."""

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        self._step_stats = step_stats

    def generate_chrome_trace_format(self, show_dataflow: bool = True, show_memory: bool = False) -> str:
        """JSON. show_dataflow: arrows from nodes to those that take their outputs. show_memory: the memory that the
        step's values take over time, if the trace has it."""
        events: list[Event] = []
        for process, device in enumerate(self._step_stats.dev_stats):
            events.append(
                {"name": "process_name", "ph": "M", "pid": process, "args": {"name": f"{device.device} Compute"}}
            )
            lanes = _lanes(device.node_stats)
            events += (_region(stats, process, lane) for stats, lane in zip(device.node_stats, lanes, strict=True))
            if show_memory:
                events += _memory(device.node_stats, process)
        if show_dataflow:
            events += self._arrows()
        return json.dumps({"traceEvents": events}, separators=(",", ":"))

    def _arrows(self) -> Iterator[Event]:
        made: dict[str, tuple[int, int, int]] = {}
        number = 0
        for process, device in enumerate(self._step_stats.dev_stats):
            for stats, lane in zip(device.node_stats, _lanes(device.node_stats), strict=True):
                made[stats.node_name] = (process, lane, _end(stats))
        for process, device in enumerate(self._step_stats.dev_stats):
            for stats, lane in zip(device.node_stats, _lanes(device.node_stats), strict=True):
                for source in filter(None, map(made.get, _parsed(stats)[1])):
                    common = {"name": "tensor", "cat": "DataFlow", "id": number}
                    yield {**common, "ph": "s", "pid": source[0], "tid": source[1], "ts": source[2]}
                    yield {**common, "ph": "t", "pid": process, "tid": lane, "ts": stats.all_start_micros}
                    number += 1


def _lanes(nodes: Any) -> list[int]:
    """A lane for each node, so that those in one lane do not overlap."""
    ends: list[int] = []
    lanes = []
    for stats in nodes:
        lane = next((lane for lane, end in enumerate(ends) if end <= stats.all_start_micros), len(ends))
        ends[lane : lane + 1] = [_end(stats)]
        lanes.append(lane)
    return lanes


def _end(stats: Any) -> int:
    return stats.all_start_micros + stats.all_end_rel_micros


def _region(stats: Any, process: int, lane: int) -> Event:
    op, inputs = _parsed(stats)
    arguments = {"name": stats.node_name, "op": op, **{f"input{index}": name for index, name in enumerate(inputs)}}
    return {
        "name": op, "cat": "Op", "ph": "X", "pid": process, "tid": lane, "ts": stats.all_start_micros,
        "dur": stats.all_end_rel_micros, "args": arguments,
    }  # fmt: skip


def _parsed(stats: Any) -> tuple[str, list[str]]:
    """The op and the inputs of "node = Op(input, input)"."""
    match = re.fullmatch(r".* = (\w+)\((.*)\)", stats.timeline_label, re.DOTALL)
    if match is None:
        return stats.timeline_label or "unknown", []
    return match[1], [name for name in match[2].split(", ") if name]


def _memory(nodes: Any, process: int) -> Iterator[Event]:
    for stats in nodes:
        for memory in stats.memory:
            yield {
                "name": memory.allocator_name, "cat": "Memory", "ph": "C", "pid": process, "tid": 0,
                "ts": stats.all_start_micros, "args": {memory.allocator_name: memory.allocator_bytes_in_use},
            }  # fmt: skip
