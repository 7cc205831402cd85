"""`ClusterPlan`: a step over several tasks. One call for each task that has a node, however many it has."""

from __future__ import annotations

import copy
import queue
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from penstock import errors
from penstock.cluster.master.tasks import Task
from penstock.cluster.ship import Named, ShippedPart, pack
from penstock.cluster.worker.messages import DeviceTrace, Timeout, Traced
from penstock.cluster.worker.parts import task_of
from penstock.engine.partitioned import settle_devices
from penstock.engine.pipeline import StepOptions
from penstock.engine.plan import Plan
from penstock.graph.graph import Graph
from penstock.graph.opdef import OpDef, get_op, has_op
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.partition.partition import Partition, partition
from penstock.runtime.observer import Observer
from penstock.runtime.values import feed_converter

if TYPE_CHECKING:
    from penstock.cluster.master.master import Master

_GRACE_S = 1.0
"""A task has so much more time than a step's timeout to report what the step was doing."""
_ENDING_S = 5.0
"""How long a failed step waits for its parts to end everywhere."""
_CPU = torch.device("cpu")


@dataclass(eq=False, slots=True)
class _Share:
    """What one task has of a step. takes and gives: positions among the step's feeds and fetches."""

    task: Task
    parts: list[ShippedPart]
    takes: list[int]
    gives: list[int]


class ClusterPlan(Plan):
    """Its tasks have their parts from the beginning, so a step sends feeds and returns fetches."""

    def __init__(self, master: Master, graph: StepGraph, options: StepOptions, client: Graph) -> None:
        super().__init__(graph, {})
        self._master, self._client = master, weakref.ref(client)
        self._number = master.next_plan()
        self._feeds = [feed_converter(node.attrs["tensor"], _CPU) for node in graph.feeds]
        placed, used = settle_devices(graph)
        if not used:
            placed = _all_on(placed, options.devices[0].name)
        shares = _shares(partition(placed, options.compress), master.tasks)
        self._here = next((share for share in shares if share.task.is_here), None)
        self._there = [share for share in shares if not share.task.is_here]
        self._all = shares
        self._register()
        for share in shares:
            weakref.finalize(self, master.later_forget, share.task, self._number).atexit = False
            share.parts = []

    def _register(self) -> None:
        master = self._master
        master.tell_forgotten()
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for share in self._there:
            share.task.start("register", master.number, self._number, share.parts, done=answers.put)
        try:
            if self._here is not None:
                self._here.task.call("register", master.number, self._number, self._here.parts)
            for _ in self._there:
                answer = answers.get()
                if isinstance(answer, Exception):
                    raise answer  # others may take long to learn that they cannot connect to a task that is gone
        except errors.OpError as error:
            found = master.why_gone(error) if isinstance(error, errors.UnavailableError) else error
            raise self._explained(found) from found.__cause__

    # --- what it says about itself ------------------------------------------------------------------------

    @property
    def source(self) -> str:
        return "\n\n".join(self._asked(0))

    def summary(self) -> str:
        return "\n".join(self._asked(1))

    def _asked(self, which: int) -> list[str]:
        return [share.task.call("explain", self._master.number, self._number)[which] for share in self._all]

    # --- steps --------------------------------------------------------------------------------------------

    def run(self, values: Sequence[Any]) -> tuple[Any, ...]:
        return self._run(values, None)

    def run_observed(self, values: Sequence[Any], observer: Observer) -> tuple[Any, ...]:
        return self._run(values, observer)

    def _run(self, values: Sequence[Any], observer: Observer | None) -> tuple[Any, ...]:
        fed = [convert(value) for convert, value in zip(self._feeds, values, strict=True)]
        timeout: Timeout | None = None
        trace = 0
        if observer is not None:
            trace = 2 if observer.allocations is not None else 1
            if observer.deadline is not None:
                timeout = observer.timeout, observer.deadline - time.monotonic()
        step = self._master.next_step()
        answers: queue.SimpleQueue[tuple[_Share, Any]] = queue.SimpleQueue()
        pending = dict.fromkeys(self._all)
        found: list[Any] = [None] * len(self.graph.fetches)
        number = self._master.number
        try:
            for share in self._there:
                given = [fed[i] for i in share.takes]
                done = _answering(answers, share)
                share.task.start("run", number, self._number, step, given, timeout, trace, done=done)
            if self._here is not None:
                share = self._here
                given = [fed[i] for i in share.takes]
                try:
                    result = share.task.call("run", number, self._number, step, given, timeout, trace)
                except Exception as error:
                    result = error
                self._take(share, result, found, observer)
                del pending[share]
            while pending:
                share, result = self._next(answers, observer)
                del pending[share]
                self._take(share, result, found, observer)
        except BaseException as error:
            self._end(step, error, pending, answers)
            if isinstance(error, errors.UnavailableError):
                error = self._master.why_gone(error)
            if isinstance(error, errors.OpError):
                raise self._explained(error) from error.__cause__
            raise
        return tuple(found)

    def _next(self, answers: queue.SimpleQueue[Any], observer: Observer | None) -> tuple[_Share, Any]:
        if observer is None or observer.deadline is None:
            found: tuple[_Share, Any] = answers.get()
            return found
        try:
            found = answers.get(timeout=max(0.0, observer.deadline + _GRACE_S - time.monotonic()))
        except queue.Empty:
            observer.check()
            raise AssertionError("the deadline has passed") from None
        return found

    def _take(self, share: _Share, result: Any, found: list[Any], observer: Observer | None) -> None:
        if isinstance(result, BaseException):
            raise result
        values, traces = result
        for place, value in zip(share.gives, values, strict=True):
            found[place] = value
        if observer is not None:
            for trace in traces:
                _note(trace, observer)

    def _end(
        self, step: int, error: BaseException, pending: dict[_Share, None], answers: queue.SimpleQueue[Any]
    ) -> None:
        """A step has failed: it ends everywhere, before its error is raised."""
        if not pending:
            return
        reason = error if isinstance(error, errors.OpError) else errors.CancelledError(None, None, str(error))
        plain = type(reason)(None, None, f"The step was aborted: {reason.message}", reason.error_code)
        self._master.abort([share.task for share in pending], step, plain)
        deadline = time.monotonic() + _ENDING_S
        there = {share for share in pending if not share.task.is_here}
        while there:
            try:
                share, _ = answers.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                return
            there.discard(share)

    def _explained(self, error: Exception) -> Exception:
        """`error` with the client's operation that it names."""
        if not isinstance(error, errors.OpError) or not isinstance(error.node_def, Named):
            return error
        graph, name = self._client(), error.node_def.name
        found = copy.copy(error)
        found._node_def = None
        try:
            op = graph.get_operation_by_name(name) if graph is not None else None
        except KeyError:
            op = None
        if op is not None:
            found._op, found._node_def = op, op.node_def
        found.__cause__ = error.__cause__
        return found


def _answering(answers: queue.SimpleQueue[Any], share: _Share) -> Callable[[Any], None]:
    return lambda result: answers.put((share, result))


def _all_on(graph: StepGraph, device: str) -> StepGraph:
    for node in graph.nodes:
        node.device = device
    return graph


def _shares(parts: list[Partition], tasks: dict[str, Task]) -> list[_Share]:
    """The parts by task, with positions among the values of each."""
    by_task: dict[str, list[Partition]] = {}
    for part in parts:
        by_task.setdefault(task_of(part.device), []).append(part)
    found = []
    for name, members in by_task.items():
        takes = list(dict.fromkeys(i for part in members for i in part.feeds))
        gives = [i for part in members for i in part.fetches]
        place = {index: n for n, index in enumerate(gives)}
        shipped = [
            pack(part, [takes.index(i) for i in part.feeds], [place[i] for i in part.fetches]) for part in members
        ]
        found.append(_Share(tasks[name], shipped, takes, gives))
    return found


def _note(trace: DeviceTrace, observer: Observer) -> None:
    """Into `observer`, as if the device had been here."""
    part = observer.part(trace.device)
    nodes = [_traced(node, trace.device) for node in trace.nodes]
    part.starts = list(zip(nodes, trace.starts, strict=True))
    part.end = trace.end
    if part.allocations is not None:
        part.allocations.uses = trace.uses


def _traced(node: Traced, device: str) -> Node:
    """The node as traces and cost models look at it: its op may be one that only the task has."""
    op = get_op(node.op) if has_op(node.op) else OpDef(node.op, (), (), {})
    inputs = tuple(Edge(Node(name, FEED, {}, (), (), device, (), ()), 0) for name in node.inputs)
    return Node(node.name, op, {}, inputs, (), device, node.dtypes, node.shapes)
