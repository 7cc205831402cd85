"""What transfers cost, measured by traces of steps: how much later a node starts than what it waited for ended."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from penstock.placement.hardware import Hardware
from penstock.placement.problem import Problem

LARGE = 1 << 16
"""Bytes of values that show how many go in a second."""
SHORT_S = 1e-6


def with_measured_links(problem: Problem, device: list[int], traces: Iterable[Any]) -> Hardware:
    """The hardware of `problem` with the links that show in `traces` (RunMetadata messages), where any do.

    A node shows what a transfer takes if it has an input from another device, and no other reason to start so late:
    neither other inputs nor what ran before it. Small values show a link's latency, large ones its rate.
    """
    found: dict[tuple[int, int], list[tuple[float, float]]] = {}
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
    for (a, b), transfers in found.items():
        link = hardware.link(names[a], names[b])
        if small := [taken for nbytes, taken in transfers if nbytes < LARGE]:
            link = replace(link, latency=statistics.median(small))
        if large := [nbytes / max(taken - link.latency, SHORT_S) for nbytes, taken in transfers if nbytes >= LARGE]:
            link = replace(link, bytes_per_second=statistics.median(large))
        links[names[a], names[b]] = link
    return replace(hardware, links=links)


def _collect(
    problem: Problem,
    device: list[int],
    times: dict[str, tuple[float, float]],
    before: dict[str, float],
    found: dict[tuple[int, int], list[tuple[float, float]]],
) -> None:
    """Adds what one step shows: bytes and seconds of transfers."""
    nodes = problem.nodes
    for i, inputs in enumerate(problem.inputs):
        name = nodes[i].name
        if name not in times:
            continue
        start = times[name][0]
        latest, here, source, nbytes = 0.0, before[name], -1, 0.0
        for producer, value in inputs:
            end = times.get(nodes[producer].name, (0.0, 0.0))[1]
            if device[producer] == device[i]:
                here = max(here, end)
            elif end > latest:
                latest, source, nbytes = end, device[producer], problem.value_bytes[value]
        if here < latest < start:
            found.setdefault((source, device[i]), []).append((nbytes, start - latest))
