"""Partial runs: one step executed in several calls, each with some of the feeds and some of the fetches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from penstock import errors
from penstock.analysis.frames import find_frames
from penstock.analysis.hazards import state_reads
from penstock.analysis.state_order import state_waits
from penstock.devices.device import Device
from penstock.engine.dataflow import build_program
from penstock.engine.partitioned import make_carry, settle_devices
from penstock.engine.pipeline import StepOptions, prepare
from penstock.engine.plan import explain_unit, make_kernels
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation, Tensor
from penstock.graph.rewrite import with_waits
from penstock.graph.step_graph import FEED, Node, StepGraph
from penstock.partition.partition import Partition, partition
from penstock.placement.place import Placement
from penstock.runtime.executor import Execution
from penstock.runtime.kernels import SessionState
from penstock.runtime.rendezvous import Rendezvous
from penstock.runtime.values import feed_converter, fetch_converter
from penstock.session.fetches import FetchPlan
from penstock.session.options import place_state


class PartialRun:
    """A running step: an execution on each device, which proceeds as far as the feeds so far allow.

    The graph is the client's, without passes: a node merged from several might wait for the feeds of all of them. All
    devices' parts run in the caller's thread, so nothing runs between calls.
    """

    def __init__(
        self,
        graph: Graph,
        state: SessionState,
        options: StepOptions,
        placement: Placement,
        wanted: FetchPlan,
        feeds: list[Tensor],
    ) -> None:
        """Raises InvalidArgumentError if there is nothing to fetch or run."""
        if not wanted.tensors and not wanted.targets:
            raise errors.InvalidArgumentError(
                None, None, "partial_run_setup must specify at least one target to fetch or execute."
            )
        with placement.lock:
            place_state(graph, options, placement)
            plain = replace(options, passes=())
            placed = prepare(feeds, wanted.tensors, wanted.targets, plain, placement=placement).graph
            placement.keep(placed)
        whole, used = settle_devices(placed)
        self._needs = _feeds_before(whole)
        self._feeds = dict(zip(feeds, whole.feeds, strict=True))
        self._nodes: dict[Tensor | Operation, Node] = {
            **{tensor: edge.node for tensor, edge in zip(wanted.tensors, whole.fetches, strict=True)},
            **dict(zip(wanted.targets, whole.targets, strict=True)),
        }
        devices = {device.name: device for device in options.devices}
        rendezvous = Rendezvous()
        parts = _by_device(whole, self._needs, used or [options.devices[0].name])
        self._parts = [_DevicePart(part, devices, state, rendezvous) for part in parts]
        self._places = {
            tensor: next((part, part.fetches.index(index)) for part in self._parts if index in part.fetches)
            for index, tensor in enumerate(wanted.tensors)
        }
        self._fed: set[Node] = set()
        self._pending: set[Tensor | Operation] = {*wanted.tensors, *wanted.targets}
        self._failed = False
        self._lock = threading.Lock()

    @property
    def done(self) -> bool:
        """Whether everything that was set up has been fetched, or the step has failed."""
        return self._failed or not self._pending

    def run(self, wanted: FetchPlan, feeds: list[Tensor], values: list[Any]) -> Any:
        """The values of `wanted`, given new feeds. Raises InvalidArgumentError for fetches or feeds that were not set
        up, or whose feeds are missing."""
        with self._lock, torch.inference_mode():
            self._check(wanted, feeds)
            self._feed(feeds, values)
            try:
                self._advance()
                found = tuple(self._result(tensor) for tensor in wanted.tensors)
            except BaseException:
                self._end()
                raise
            self._pending -= {*wanted.tensors, *wanted.targets}
            return wanted.unpack(found)

    def abandon(self) -> None:
        """The session is closed: what waits is withdrawn."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        self._failed = True
        for part in self._parts:
            part.execution.withdraw()

    def _check(self, wanted: FetchPlan, feeds: list[Tensor]) -> None:
        asked: list[Tensor | Operation] = [*wanted.tensors, *wanted.targets]
        for element in asked:
            if element not in self._nodes:
                raise errors.InvalidArgumentError(None, None, f"{element.name} was not specified in partial_run_setup.")
            if element not in self._pending:
                raise errors.InvalidArgumentError(None, None, f"{element.name} has already been fetched.")
        for tensor in feeds:
            if tensor not in self._feeds:
                raise errors.InvalidArgumentError(None, None, f"{tensor.name} was not specified in partial_run_setup.")
            if self._feeds[tensor] in self._fed:
                raise errors.InvalidArgumentError(None, None, f"{tensor.name} has already been fed.")
        fed = self._fed | {self._feeds[tensor] for tensor in feeds}
        for element in asked:
            for node in self._needs[self._nodes[element]] - fed:
                raise errors.InvalidArgumentError(
                    None, None, f"Must feed {node.attrs['tensor'].name} before {element.name} is fetched."
                )

    def _feed(self, feeds: list[Tensor], values: list[Any]) -> None:
        """Raises TypeError or ValueError for a value that does not fit; nothing is fed then."""
        order = list(self._feeds)
        given = [
            (part, place, part.convert(tensor, value))
            for tensor, value in zip(feeds, values, strict=True)
            for part in self._parts
            for place, index in enumerate(part.feeds)
            if order[index] is tensor
        ]
        for part, place, value in given:
            part.execution.feed(place, value)
        self._fed |= {self._feeds[tensor] for tensor in feeds}

    def _advance(self) -> None:
        """Run all that can run."""
        while True:
            moved = [part.advance() for part in self._parts]
            if not any(moved):
                computing = next((part for part in self._parts if part.execution.computes), None)
                if computing is None:
                    return
                computing.execution.wait()

    def _result(self, tensor: Tensor) -> Any:
        part, place = self._places[tensor]
        if not part.execution.has_result(place):
            raise errors.InvalidArgumentError(None, None, f"{tensor.name} waits for feeds that are still missing.")
        return part.fetched(place)


class _DevicePart:
    """One device's part of the step."""

    def __init__(
        self,
        part: Partition,
        devices: dict[str, Device],
        state: SessionState,
        rendezvous: Rendezvous,
    ) -> None:
        self.feeds, self.fetches = part.feeds, part.fetches
        self._device = device = devices[part.device]
        self._edges = part.graph.fetches
        kernels = make_kernels(part.graph.nodes, device, state)
        # Values outlive the call, and later calls may write to variables, so every read of state is a copy.
        copied = {(node, index) for node in part.graph.nodes for index in state_reads(node)}
        program = build_program(
            part.graph, kernels, copied, explain_unit, carry=make_carry(device, devices), feeds_wait=True
        )
        self.execution = Execution(program, state.closing, None, rendezvous)
        self.execution.begin()

    def convert(self, tensor: Tensor, value: Any) -> Any:
        return feed_converter(tensor, self._device.torch)(value)

    def advance(self) -> bool:
        with self._device.running():
            return self.execution.advance()

    def fetched(self, place: int) -> Any:
        edge, value = self._edges[place], self.execution.result(place)
        convert: Callable[[Any], Any] = fetch_converter(edge.dtype, self._device.torch, copy=True)
        return convert(value.read() if edge.dtype._is_ref_dtype else value)


def _feeds_before(graph: StepGraph) -> dict[Node, frozenset[Node]]:
    """For each node, the feeds that it waits for."""
    needs: dict[Node, frozenset[Node]] = dict.fromkeys(graph.nodes, frozenset())
    changed = True
    while changed:  # one pass, and another if loops lead back
        changed = False
        for node in graph.nodes:
            before = [*(edge.node for edge in node.inputs), *node.controls]
            found = frozenset([node] if node.op is FEED else []).union(*(needs[source] for source in before))
            changed = changed or found != needs[node]
            needs[node] = found
    return needs


def _by_device(graph: StepGraph, needs: dict[Node, frozenset[Node]], devices: list[str]) -> list[Partition]:
    """A graph for each device. Uses of state are ordered if that makes none wait for more feeds."""
    if len(devices) > 1:
        return partition(graph)
    waits = state_waits(graph, find_frames(graph)[1])
    waits = {node: tuple(c for c in before if needs[c] <= needs[node]) for node, before in waits.items()}
    graph = with_waits(graph, waits)
    return [Partition(devices[0], graph, list(range(len(graph.feeds))), list(range(len(graph.fetches))))]
