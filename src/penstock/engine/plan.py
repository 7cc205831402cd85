"""Plans: everything about a step that can be decided before it runs.

A plan is made once for (fetches, feeds) from the pruned graph: kernels are chosen and made, hazards resolved, one
segment compiled. Running it is one function call. `partitioned.py` has steps on several devices.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from penstock.analysis.frames import NO_GUARD, find_frames, has_control_flow
from penstock.analysis.guards import Unstructured
from penstock.analysis.hazards import Hazards, find_hazards, state_reads
from penstock.analysis.in_place import InPlace
from penstock.analysis.peak_memory import StepMemory, predict_memory
from penstock.analysis.sizes import Sizes
from penstock.analysis.state_order import order_state
from penstock.analysis.waits import in_turn
from penstock.codegen.python.cuda_graphs import Capturing
from penstock.codegen.python.lower import lower
from penstock.codegen.python.segment import Param, Result, Segment, explain
from penstock.devices.device import Device
from penstock.engine.arrays import use_arrays
from penstock.engine.border import CLIENT, Border, array_feed, array_fetch
from penstock.engine.dataflow import Carry, build_program, is_asynchronous
from penstock.engine.threads import team_for, work_on
from penstock.graph.node_kernel import abilities
from penstock.graph.primitives import PRIMITIVES
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.graph.transfer_ops import TRANSFERS
from penstock.passes.planned_memory import PlannedMemory
from penstock.runtime.blocking import blocking
from penstock.runtime.executor import Execution
from penstock.runtime.failures import node_error
from penstock.runtime.inbox import Closing
from penstock.runtime.kernels import SessionState, make_kernel
from penstock.runtime.observer import Observer
from penstock.runtime.rendezvous import Rendezvous
from penstock.runtime.side_by_side import use_threads
from penstock.runtime.tokens import DataflowProgram

if TYPE_CHECKING:
    from penstock.engine.remedies import Passed


def executor_choice() -> str:
    """How steps with control flow run: PENSTOCK_EXECUTOR is "auto", "structured" or "dataflow" (for tests)."""
    return os.environ.get("PENSTOCK_EXECUTOR", "auto")


def make_plan(graph: StepGraph, state: SessionState, device: Device, border: Border = CLIENT) -> Plan:
    """The plan of one device's step: one generated function if its control flow has a structured form and its waits
    come in turn, otherwise a dataflow.

    Raises a typed error, naming the node, for a kernel that cannot be made or malformed control flow.
    """
    kernels = make_kernels(graph, device, state)
    waits = {node for node, kernel in kernels.items() if is_asynchronous(kernel)}
    choice = executor_choice() if has_control_flow(graph) else "structured"
    turns = None if any(not node.op.traits.waits for node in waits) else in_turn(graph) if waits else graph
    if turns is not None and choice != "dataflow":
        block = {node: blocking(node, kernels[node], state.closing) for node in waits}
        try:
            return StructuredPlan(turns, kernels | block, device.torch, border)
        except Unstructured:
            if choice == "structured":
                raise
    ordered = order_state(graph, find_frames(graph)[1] if has_control_flow(graph) else {})
    pairs = zip(ordered.nodes, graph.nodes, strict=True)
    kernels = {node: kernels[old] for node, old in pairs if old in kernels}
    return DataflowPlan(ordered, kernels, device.torch, state.closing, border=border)


class Plan:
    """A step ready to run. Any number of threads may run it at once: all that a step changes is local or state."""

    def __init__(self, graph: StepGraph, kernels: Mapping[Node, Any]) -> None:
        self.graph = graph
        self._kernels = kernels
        self.passed: list[Passed] = []
        """The result of each pass, for `Session.explain`."""

    @property
    def made(self) -> list[Plan]:
        """The plans that this one consists of, by fed shapes (engine/specialised.py)."""
        return [self]

    @property
    def source(self) -> str:
        """The text of what runs."""
        raise NotImplementedError

    def summary(self) -> str:
        """The memory and the threads that the step will use, one line per device."""
        raise NotImplementedError

    def run(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Runs one step: from fed values to fetched ones, in the order of the plan's graph."""
        raise NotImplementedError

    def simulated(self, passes: Collection[str]) -> StepGraph:
        """What all devices together run, without transfers, if each runs `passes` on its part."""
        return self.graph

    def run_observed(self, values: Sequence[Any], observer: Observer) -> tuple[Any, ...]:
        """Runs one step with `observer(node)` called before each node, for tracing, deadlines and cancellation."""
        raise NotImplementedError


class StructuredPlan(Plan):
    """The whole step as one segment."""

    def __init__(
        self, graph: StepGraph, kernels: dict[Node, Any], device: torch.device, border: Border = CLIENT
    ) -> None:
        arrays, kernels = use_arrays(graph, kernels) if border.arrays else (set(), kernels)
        self._lowered = lower(graph, kernels, into_variables=True)
        schedule = self._lowered.schedule
        super().__init__(graph, schedule.kernels)
        self._team = team_for(work_on(graph, device))
        guards, hazards = schedule.guards, schedule.hazards
        fed = [Edge(node, 0) for node in graph.feeds]
        self._params = [Param(e, array_feed(e) if e in arrays else border.feed(e, device)) for e in fed]
        self._results = [
            Result(
                edge,
                array_fetch(edge not in graph.fetches[:i])
                if edge in arrays
                else border.fetch(edge, device, hazards.fetches[i], hazards.shows_state[i]),
                guards.edge(edge) if guards is not None else NO_GUARD,
            )
            for i, edge in enumerate(graph.fetches)
        ]
        self.segment = self._lowered.segment(self._params, self._results)
        self._step: Callable[..., tuple[Any, ...]] = self._team.around(self.segment.fn, self._settle)
        self._observed: Segment | None = None

    def _settle(self, step: Callable[..., tuple[Any, ...]]) -> None:
        self._step = step

    @property
    def source(self) -> str:
        sources = ((node, abilities(kernel).source) for node, kernel in self._kernels.items())
        parts = [f"\n# {node.name}\n{source()}" for node, source in sources if source is not None]
        return self.segment.source + "".join(parts)

    def summary(self) -> str:
        schedule = self._lowered.schedule
        order = dict.fromkeys(node for node, _ in schedule.order)
        memory = _memory_of(self.graph, order, schedule.hazards, schedule.in_place, self._kernels)
        return f"{memory}; {self._team}"

    def run(self, values: Sequence[Any]) -> tuple[Any, ...]:
        try:
            return self._step(*values)
        except Exception as error:
            raise explain(error, self.segment) from error.__cause__

    def run_observed(self, values: Sequence[Any], observer: Observer) -> tuple[Any, ...]:
        segment = self._observed = self._observed or self._lowered.segment(self._params, self._results, observed=True)
        try:
            with observer.watching():
                return self._team.limiting(segment.fn)(observer, *values)
        except Exception as error:
            raise explain(error, segment) from error.__cause__


class DataflowPlan(Plan):
    """The step as segments and primitives, which the dataflow executor schedules."""

    def __init__(
        self,
        graph: StepGraph,
        kernels: dict[Node, Any],
        device: torch.device,
        closing: Closing,
        carry: Carry | None = None,
        capturing: Capturing | None = None,
        border: Border = CLIENT,
        slow: bool = False,
    ) -> None:
        """slow: steps wait for their client, so that every read of state must be a copy."""
        super().__init__(graph, kernels)
        self._slow = slow
        self._team = team_for(work_on(graph, device))
        self._run = self._team.around(Execution.run, lambda run: None)
        self._closing = closing
        self._carry, self._capturing = carry, capturing
        self._hazards = find_hazards(graph, capturing.order(graph, kernels) if capturing is not None else None)
        hazards = self._hazards
        self._feeds = [border.feed(Edge(node, 0), device) for node in graph.feeds]
        self._fetches = [
            border.fetch(edge, device, shared, of_state)
            for edge, shared, of_state in zip(graph.fetches, hazards.fetches, hazards.shows_state, strict=True)
        ]
        self._program = self._build()
        self._observed: DataflowProgram | None = None

    def _build(self, observed: bool = False) -> DataflowProgram:
        reads = self._hazards.reads
        if self._slow:
            reads = {(node, index) for node in self.graph.nodes for index in state_reads(node)}
        return build_program(self.graph, self._kernels, reads, explain_unit, observed, self._carry, self._capturing)

    @property
    def source(self) -> str:
        return self._program.text()

    def summary(self) -> str:
        memory = _memory_of(self.graph, self.graph.nodes, self._hazards, {}, self._kernels)
        return f"{memory}; {self._team}"

    def run(self, values: Sequence[Any]) -> tuple[Any, ...]:
        return self.run_part(values, None)

    def run_observed(self, values: Sequence[Any], observer: Observer) -> tuple[Any, ...]:
        return self.run_part(values, None, observer)

    def run_part(
        self, values: Sequence[Any], rendezvous: Rendezvous | None, observer: Observer | None = None
    ) -> tuple[Any, ...]:
        """Runs one device's part of a step; the devices meet at `rendezvous`."""
        if observer is None:
            return self._finish(self._run, Execution(self._program, self._closing, None, rendezvous), values)
        self._observed = self._observed or self._build(observed=True)
        with observer.watching():
            run = self._team.limiting(Execution.run)
            return self._finish(run, Execution(self._observed, self._closing, observer, rendezvous), values)

    def _finish(self, run: Callable[..., list[Any]], execution: Execution, values: Sequence[Any]) -> tuple[Any, ...]:
        fed = [convert(v) if convert is not None else v for convert, v in zip(self._feeds, values, strict=True)]
        with torch.inference_mode():
            found = run(execution, fed)
            read = [
                value.read() if edge.dtype._is_ref_dtype else value
                for edge, value in zip(self.graph.fetches, found, strict=True)
            ]
            return tuple(fetch(v) if fetch is not None else v for fetch, v in zip(self._fetches, read, strict=True))


def _memory_of(
    graph: StepGraph,
    order: Iterable[Node],
    hazards: Hazards,
    in_place: Mapping[Node, InPlace],
    kernels: Mapping[Node, Any],
) -> StepMemory:
    """The memory of a plan, or a lower bound if sizes are not known before the step."""
    least = Sizes(unknown_dim=1)
    return predict_memory(graph, order, hazards, in_place, least, PlannedMemory(least).inside(graph.nodes, kernels))


def explain_unit(error: Exception, where_from: Segment | Node, where: str) -> Exception:
    if isinstance(where_from, Node):
        return node_error(error, where_from, [], where)
    return explain(error, where_from, where)


def make_kernels(graph: StepGraph, device: Device, state: SessionState) -> dict[Node, Any]:
    """The kernel of each node; raises a typed error, naming the node, for one that cannot be made."""
    kernels: dict[Node, Any] = {}
    for node in graph.nodes:
        if node.op is not FEED and node.op.name not in PRIMITIVES | TRANSFERS:
            try:
                kernels[node] = make_kernel(node, device.kernel_type, device.torch, state)
            except Exception as error:
                raise node_error(error, node, []) from error
    return use_threads(graph, kernels, state)
