"""What transfers cost, measured by traces of steps: how much later a node starts than what it has waited for ended."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from penstock.placement.hardware import Hardware
from penstock.placement.links import Link
from penstock.placement.problem import Problem


def with_measured_links(problem: Problem, device: list[int], traces: Iterable[Any]) -> Hardware:
    """The hardware of `problem` with the latencies that show in `traces` (RunMetadata messages), where there are any.

    A node shows a link's latency if it has an input from another device, and no other reason to start so late: neither
    other inputs nor what ran before it.
    """
    found: dict[tuple[int, int], list[float]] = {}
    for trace in traces:
        times: dict[str, tuple[float, float]] = {}
        before: dict[str, float] = {}
        for part in trace.step_stats.dev_stats:
            last = 0.0
            for node in part.node_stats:
                start = node.all_start_nanos * 1e-9
                times[node.node_name] = start, start + node.all_end_rel_nanos * 1e-9
                before[node.node_name] = last
                last = times[node.node_name][1]
        _collect(problem, device, times, before, found)
    hardware, names = problem.hardware, problem.hardware.names
    links = dict(hardware.links)
    for (a, b), latencies in found.items():
        known = hardware.link(names[a], names[b])
        links[names[a], names[b]] = Link(statistics.median(latencies), known.bytes_per_second, known.through)
    return replace(hardware, links=links)


def _collect(
    problem: Problem,
    device: list[int],
    times: dict[str, tuple[float, float]],
    before: dict[str, float],
    found: dict[tuple[int, int], list[float]],
) -> None:
    """Adds what one step shows."""
    nodes = problem.nodes
    for i, inputs in enumerate(problem.inputs):
        name = nodes[i].name
        if name not in times:
            continue
        start = times[name][0]
        latest, here = 0.0, before[name]
        source = -1
        for producer, value in inputs:
            end = times.get(nodes[producer].name, (0.0, 0.0))[1]
            if device[producer] == device[i]:
                here = max(here, end)
            else:
                end += problem.value_bytes[value] / problem.routes[device[producer], device[i]].rate
                if end > latest:
                    latest, source = end, device[producer]
        if source >= 0 and here < latest < start:
            found.setdefault((source, device[i]), []).append(start - latest)
