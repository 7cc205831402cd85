"""Partial runs: one step executed in several calls, each with some of the feeds and some of the fetches."""

from __future__ import annotations

import threading
from typing import Any

from penstock import errors
from penstock.devices.device import Device
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation, Tensor
from penstock.graph.step_graph import FEED, Edge, Node
from penstock.ops.control_flow import PRIMITIVES
from penstock.passes.pipeline import StepOptions, prepare
from penstock.runtime.hazards import state_reads
from penstock.runtime.kernels import SessionState
from penstock.runtime.plan import explain, make_kernels
from penstock.runtime.segment import Param, Result, build_segment
from penstock.runtime.values import feed_converter, fetch_converter
from penstock.session.fetches import FetchPlan


class PartialRun:
    """A step under way: the graph of the whole of it, and the values that it has so far.

    Each call runs the nodes that its fetches still need, as a segment whose parameters are values known already and
    whose results are all that the rest of the step may want. No node runs twice.
    """

    def __init__(
        self, graph: Graph, state: SessionState, device: Device, wanted: FetchPlan, feeds: list[Tensor]
    ) -> None:
        self._graph = graph
        self._state, self._device = state, device
        self._whole = prepare(feeds, wanted.tensors, wanted.targets, StepOptions([device], soft_placement=True)).graph
        moves = [node.name for node in self._whole.nodes if node.op.name in PRIMITIVES]
        if moves:
            raise errors.UnimplementedError(
                None, None, f"Partial runs of graphs with control flow are not supported yet; this one has {moves[0]}."
            )
        self._feeds = dict(zip(feeds, self._whole.feeds, strict=True))
        self._fetches = dict(zip(wanted.tensors, self._whole.fetches, strict=True))
        self._targets = dict(zip(wanted.targets, self._whole.targets, strict=True))
        self._values: dict[Edge, Any] = {}
        self._ran: set[Node] = set()
        self._pending = set(wanted.tensors) | set(wanted.targets)
        self._lock = threading.Lock()

    @property
    def done(self) -> bool:
        """Whether everything that was set up has been fetched."""
        return not self._pending

    def run(self, wanted: FetchPlan, feeds: list[Tensor], values: list[Any]) -> Any:
        """The values of `wanted`, given new feeds. InvalidArgumentError for what was not set up, or is not fed yet."""
        with self._lock:
            self._check(wanted, feeds)
            for tensor, value in zip(feeds, values, strict=True):
                edge = Edge(self._feeds[tensor], 0)
                self._values[edge] = feed_converter(tensor, self._device.torch)(value)
                self._ran.add(edge.node)
            fetches = [self._fetches[t] for t in wanted.tensors]
            self._execute(self._needed(fetches, [self._targets[op] for op in wanted.targets]))
            self._pending -= {*wanted.tensors, *wanted.targets}
            return wanted.unpack(
                tuple(fetch_converter(e.dtype, self._device.torch, copy=True)(self._read(e)) for e in fetches)
            )

    def _read(self, edge: Edge) -> Any:
        value = self._values[edge]
        return value.read() if edge.dtype._is_ref_dtype else value

    def _check(self, wanted: FetchPlan, feeds: list[Tensor]) -> None:
        known: set[Tensor | Operation] = {*self._fetches, *self._targets}
        asked: list[Tensor | Operation] = [*wanted.tensors, *wanted.targets]
        for element in asked:
            if element not in known:
                raise errors.InvalidArgumentError(None, None, f"{element.name} was not specified in partial_run_setup.")
            if element not in self._pending:
                raise errors.InvalidArgumentError(None, None, f"{element.name} has already been fetched.")
        for tensor in feeds:
            if tensor not in self._feeds:
                raise errors.InvalidArgumentError(None, None, f"{tensor.name} was not specified in partial_run_setup.")
            if Edge(self._feeds[tensor], 0) in self._values:
                raise errors.InvalidArgumentError(None, None, f"{tensor.name} has already been fed.")

    def _needed(self, fetches: list[Edge], targets: list[Node]) -> list[Node]:
        """The nodes to run now, in order. InvalidArgumentError when one of them waits for a feed."""
        needed: set[Node] = set()
        pending = [*targets, *(edge.node for edge in fetches)]
        while pending:
            node = pending.pop()
            if node in needed or node in self._ran:
                continue
            if node.op is FEED:
                raise errors.InvalidArgumentError(
                    None, None, f"Must feed {node.attrs['tensor'].name} before what depends on it is fetched."
                )
            needed.add(node)
            pending += [edge.node for edge in node.inputs] + list(node.controls)
        return [node for node in self._whole.nodes if node in needed]

    def _execute(self, nodes: list[Node]) -> None:
        if not nodes:
            return
        now = set(nodes)
        known = list(dict.fromkeys(edge for node in nodes for edge in node.inputs if edge.node not in now))
        later = {
            edge for node in self._whole.nodes if node not in now and node not in self._ran for edge in node.inputs
        }
        later |= set(self._fetches.values())
        kept = [edge for node in nodes for p in range(len(node.dtypes)) if (edge := Edge(node, p)) in later]
        kernels = make_kernels(nodes, self._device, self._state)
        # Values outlive the call, and later calls may write to variables: every read of state is a copy.
        copied = {(node, index) for node in nodes for index in state_reads(node)}
        segment = build_segment(list(nodes), kernels, [Param(e) for e in known], [Result(e) for e in kept], copied)
        try:
            found = segment.fn(*(self._values[edge] for edge in known))
        except Exception as error:
            raise explain(error, segment) from error.__cause__
        self._values.update(zip(kept, found, strict=True))
        self._ran |= now
