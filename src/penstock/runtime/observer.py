"""`Observer`: watches a step as it runs: when nodes run, what they allocate, whether the step must stop."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from penstock import errors
from penstock.analysis.allocations import Allocations
from penstock.graph.step_graph import Node, StepGraph
from penstock.runtime.inbox import Closing


class Observer:
    """A hook for `Plan.run_observed`: records when each node starts and ends, and stops the step when it must stop.

    measure_memory: also what each node allocates, which costs time. whole: nodes that stand for several are observed
    as they run otherwise, compiled, instead of one by one.
    """

    def __init__(
        self,
        timeout_in_ms: int = 0,
        cancelled: Closing | None = None,
        measure_memory: bool = False,
        whole: bool = False,
    ) -> None:
        self.deadline = time.monotonic() + timeout_in_ms / 1000 if timeout_in_ms > 0 else None
        self.timeout = timeout_in_ms
        self.whole = whole
        self._cancelled = cancelled
        self.parts: dict[str, Observer] = {}
        """For a step on several devices: an observer for each, by the device's name."""
        self.graphs: dict[str, StepGraph] = {}
        """For such a step: what each of them runs."""
        self.end = 0
        """When the observed part of the step ended, in nanoseconds since the epoch."""
        self.starts: list[tuple[Node, int]] = []
        """`(node, nanoseconds since the epoch)` in the order of execution."""
        self.ends: list[int] = []
        """When each of `starts` had done its work: what comes between that and the next start is waiting."""
        self.allocations = Allocations() if measure_memory else None
        """What each of `starts` allocated, in the same order."""

    def part(self, device: str) -> Observer:
        """An observer for one device's part of the step, with the same deadline."""
        found = self.parts[device] = Observer(0, self._cancelled, self.allocations is not None, self.whole)
        found.deadline, found.timeout = self.deadline, self.timeout
        return found

    def watching(self) -> contextlib.AbstractContextManager[Any]:
        """A context manager to enter around calls of kernels that are observed."""
        return self.allocations or contextlib.nullcontext()

    def check(self, node: Node | None = None) -> None:
        """Raise DeadlineExceededError or CancelledError if the step must stop."""
        source = node.source if node is not None else None
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise errors.DeadlineExceededError(
                source.node_def if source is not None else None,
                source,
                f"The step did not end within timeout_in_ms={self.timeout}; it had reached node {node.name}."
                if node is not None
                else f"Timed out waiting for notification: the step did not end within timeout_in_ms={self.timeout}.",
            )
        if self._cancelled is not None and self._cancelled.is_set():
            raise self._cancelled.error()

    def __call__(self, node: Node) -> None:
        self.check(node)
        if self.allocations is not None:
            self.allocations.begin()
        now = time.time_ns()
        if len(self.ends) < len(self.starts):
            self.ends.append(now)
        self.starts.append((node, now))

    def rest(self) -> None:
        """What runs has nothing to do until something arrives: the last node's work is done."""
        if len(self.ends) < len(self.starts):
            self.ends.append(time.time_ns())

    def finish(self) -> None:
        """The observed part of the step has ended."""
        self.rest()
        self.end = time.time_ns()

    @property
    def runs(self) -> list[tuple[Node, int, int]]:
        """`(node, start, end of its work)` of each node that ran."""
        self.rest()  # a step of one part, whose end nobody has told
        return [(node, start, end) for (node, start), end in zip(self.starts, self.ends, strict=True)]
