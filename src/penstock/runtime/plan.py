"""Plans: everything about a kind of step that can be settled before it runs.

A plan is made once for (fetches, feeds) from the pruned graph: kernels chosen and made, hazards resolved, one
segment compiled. Running it is one function call. Where control flow, queues, several devices and compiled
clusters enter is in docs/architecture.md.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from penstock import errors
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.runtime.failures import node_error
from penstock.runtime.hazards import find_hazards
from penstock.runtime.kernels import SessionState, make_kernel
from penstock.runtime.segment import Hook, Param, Result, Segment, build_segment
from penstock.runtime.values import feed_converter, fetch_converter
from penstock.tensor.dtypes import resource


class Plan:
    """A step ready to run. Any number of threads may run it at once: all that a step changes is local or state."""

    def __init__(self, graph: StepGraph, state: SessionState, device: torch.device, whole: bool = True) -> None:
        """Raises the typed error, naming the node, of a kernel that cannot be made.

        With `whole`, feeds are converted from the client's values and fetches to them; without, both are as
        kernels have them (for partial runs).
        """
        self.graph = graph
        self._device = device
        self._hazards = find_hazards(graph)
        self._kernels = make_kernels(graph.nodes, device, state)
        self._params = [
            Param(Edge(n, 0), feed_converter(n.attrs["tensor"], device) if whole else None) for n in graph.feeds
        ]
        self._results = [
            Result(edge, _fetcher(edge, device, copy) if whole else None)
            for edge, copy in zip(graph.fetches, self._hazards.fetches, strict=True)
        ]
        self.segment = self._build()
        self._step = self.segment.fn
        self._observed: Segment | None = None

    def _build(self, observed: bool = False) -> Segment:
        return build_segment(
            self.graph.nodes, self._kernels, self._params, self._results, self._hazards.reads, observed
        )

    @property
    def source(self) -> str:
        """The generated function, to read."""
        return self.segment.source

    def run(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """One step: the fetched values for the fed ones, in the order of the plan's graph."""
        try:
            return self._step(*values)
        except Exception as error:
            raise explain(error, self.segment) from error.__cause__

    def run_observed(self, values: Sequence[Any], hook: Hook) -> tuple[Any, ...]:
        """One step with `hook(node)` called before each node: for tracing, deadlines and cancellation."""
        segment = self._observed = self._observed or self._build(observed=True)
        try:
            return segment.fn(hook, *values)
        except Exception as error:
            raise explain(error, segment) from error.__cause__


def explain(error: Exception, segment: Segment) -> Exception:
    """What to raise for an exception that came out of `segment`: the typed error of the node that failed."""
    node, values = segment.failed_node(error.__traceback__)
    if node is None:
        return error  # a feed or fetch that does not fit says so itself
    return node_error(error, node, segment.input_values(node, values))


def make_kernels(nodes: list[Node], device: torch.device, state: SessionState) -> dict[Node, Any]:
    """The kernel of each node; the typed error, naming the node, of one that cannot be made."""
    device_type = "GPU" if device.type == "cuda" else "CPU"
    kernels: dict[Node, Any] = {}
    for node in nodes:
        if node.op is not FEED:
            try:
                kernels[node] = make_kernel(node, device_type, device, state)
            except Exception as error:
                raise node_error(error, node, []) from error
    return kernels


def _fetcher(edge: Edge, device: torch.device, copy: bool) -> Callable[[Any], Any]:
    if edge.dtype.base_dtype == resource:
        raise TypeError(f"{edge.name} is a handle of a resource and cannot be fetched; fetch its value.")
    return fetch_converter(edge.dtype, device, copy)


class Observer:
    """A hook for `Plan.run_observed`: notes when each node starts, and stops the step when it must stop."""

    def __init__(self, timeout_in_ms: int = 0, cancelled: threading.Event | None = None) -> None:
        self._deadline = time.monotonic() + timeout_in_ms / 1000 if timeout_in_ms > 0 else None
        self._timeout = timeout_in_ms
        self._cancelled = cancelled
        self.starts: list[tuple[Node, int]] = []
        """`(node, nanoseconds since the epoch)` in the order of execution."""

    def __call__(self, node: Node) -> None:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise errors.DeadlineExceededError(
                node.source.node_def if node.source else None,
                node.source,
                f"The step did not end within timeout_in_ms={self._timeout}; it had come to node {node.name}.",
            )
        if self._cancelled is not None and self._cancelled.is_set():
            raise errors.CancelledError(None, None, "The session was closed during the step.")
        self.starts.append((node, time.time_ns()))
