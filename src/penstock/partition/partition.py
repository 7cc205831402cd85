"""Splits a placed graph into one graph per device, with one Recv for each tensor and destination (paper 3.2.2, figure
4).

A value inside a loop is received once in each iteration. A Merge of the loop on the same device tells a Recv that an
iteration has begun; a device without one gets a small control loop (`_PartInProgress.pulse`), driven by the loop's
condition, so that devices go through iterations without a master (paper 4.4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.analysis.feed_waits import state_waits_of_parts
from penstock.analysis.frames import Frame, find_frames, has_control_flow, is_loop_merge, is_regular, malformed
from penstock.analysis.hazards import state_accesses, state_reads
from penstock.analysis.state_order import state_waits
from penstock.graph.opdef import get_op
from penstock.graph.primitives import ENTERS, EXITS, MERGES, NEXT_ITERATIONS
from penstock.graph.rewrite import duplicate
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.graph.transfer_ops import COMPRESS, RECV, RECV_CONTROL, SEND, SEND_CONTROL
from penstock.graph.verify import BACK
from penstock.partition.circles import check_for_circles
from penstock.placement.problem import is_everywhere
from penstock.tensor.dtypes import DType, bool as bool_dtype, float32
from penstock.tensor.shapes import TensorShape


@dataclass(slots=True)
class Partition:
    """What one device runs. feeds[i] and fetches[i]: the position of the graph's i-th feed or fetch among the
    step's."""

    device: str
    graph: StepGraph
    feeds: list[int]
    fetches: list[int]


def _always(source: str, target: str) -> bool:
    return True


def partition(
    graph: StepGraph,
    compress: bool = False,
    between: Callable[[str, str], bool] = _always,
    feeds_wait: bool = False,
) -> list[Partition]:
    """Split a graph whose nodes all have a device. `compress`: send float32 as 16 bits (paper 5.5), `between` those
    devices. feeds_wait: feeds come one by one, so that no node may wait for more of them than in `graph`.

    Raises InternalError if the parts would deadlock.
    """
    parts = _Partitioner(duplicate(graph), between if compress else None, feeds_wait).run()
    check_for_circles(parts)
    return parts


def _read_at_home(graph: StepGraph) -> None:
    """Reads variables that are written on their own device, after everything that a reader on another device waits
    for."""
    accesses = state_accesses(graph)
    written = {root for _, root, writes in accesses if writes}
    if not written:
        return
    readers = {node for node, root, writes in accesses if root in written and node.op.name not in MERGES}
    nodes: list[Node] = []
    for node in graph.nodes:
        inputs = list(node.inputs)
        for i in state_reads(node) if node in readers else ():
            ref = inputs[i]
            if ref.dtype._is_ref_dtype and ref.node.device != node.device:
                dtype, shape = ref.dtype.base_dtype, ref.node.shapes[ref.port]
                waits = [e.node for e in node.inputs if e.node.op.name not in BACK and not e.dtype._is_ref_dtype]
                controls = tuple(dict.fromkeys([*node.controls, *waits]))
                read = Node(
                    f"_read_{i}_for_{node.name}", get_op("Identity"), {"T": dtype}, (ref,), controls,
                    ref.node.device, (dtype,), (shape,), node.source,
                )  # fmt: skip
                nodes.append(read)
                inputs[i] = Edge(read, 0)
        node.inputs = tuple(inputs)
        nodes.append(node)
    graph.nodes = nodes


class _Partitioner:
    def __init__(self, graph: StepGraph, compress: Callable[[str, str], bool] | None, feeds_wait: bool) -> None:
        _read_at_home(graph)
        self.graph, self.compress = graph, compress
        self.root, self.frames = find_frames(graph) if has_control_flow(graph) else (Frame("", None), {})
        for frame in dict.fromkeys(self.frames.values()):
            if frame.parent is not None and not is_regular(frame):
                raise malformed(f"the loop {frame.name!r}, on several devices, has no LoopCond", *frame.enters[:2])
        for node, waits in (state_waits_of_parts if feeds_wait else state_waits)(graph, self.frames).items():
            node.controls += waits
        self.parts: dict[str, _PartInProgress] = {}
        self.merges: dict[tuple[Frame, str], Node] = {}
        for node in graph.nodes:
            if is_loop_merge(node) and not feeds_wait:  # another variable's may wait for later feeds
                self.merges.setdefault((self.frames[node], node.device), node)
        self.names = {node.name for node in graph.nodes}
        # The inputs of each Enter, before they are replaced by those of one device.
        self.entered = {node: node.inputs[0] for node in graph.nodes if node.op.name == "Enter"}

    def run(self) -> list[Partition]:
        order = {node: i for i, node in enumerate(self.graph.nodes)}
        for node in self.graph.nodes:
            if not is_everywhere(node):
                self.part(node.device).take(node)
        fetched = [e.node.device for e in self.graph.fetches] + [n.device for n in self.graph.targets]
        for device in fetched:
            self.part(device)
        found = []
        for device, part in self.parts.items():
            found.append(self._finished(device, part, order))
        return found

    def _finished(self, device: str, part: _PartInProgress, order: dict[Node, int]) -> Partition:
        fetches = [i for i, e in enumerate(self.graph.fetches) if e.node.device == device]
        targets = [node for node in self.graph.targets if node.device == device]
        wanted = [*(self.graph.fetches[i].node for i in fetches), *targets]
        shared = dict.fromkeys(node for node in wanted if is_everywhere(node))
        everywhere = sorted({**part.shared, **shared}, key=lambda node: order.get(node, -1))
        feeds = [i for i, feed in enumerate(self.graph.feeds) if feed in everywhere]
        known = set(everywhere)  # with constants that waited for others, which are on every device
        graph = StepGraph(
            [*everywhere, *(node for node in part.nodes if node not in known)],
            [self.graph.feeds[i] for i in feeds],
            [self.graph.fetches[i] for i in fetches],
            targets,
        )
        return Partition(device, graph, feeds, fetches)

    def part(self, device: str) -> _PartInProgress:
        if device not in self.parts:
            self.parts[device] = _PartInProgress(self, device)
        return self.parts[device]

    def frame_of(self, node: Node) -> Frame:
        """The frame of the outputs of `node`: for an Exit, the outer one."""
        frame = self.frames.get(node, self.root)
        return (frame.parent or self.root) if node.op.name in EXITS else frame

    def name(self, wanted: str) -> str:
        name, number = wanted, 0
        while name in self.names:
            number += 1
            name = f"{wanted}_{number}"
        self.names.add(name)
        return name

    def send(self, edge: Edge, target: str) -> tuple[str, DType]:
        """Send a value from its device to `target`; returns the key and the dtype that is sent."""
        source = self.part(edge.node.device)
        dtype = edge.dtype.base_dtype
        if edge.dtype._is_ref_dtype:
            edge = source.read(edge)
        key = f"{edge.name} to {target}"
        attrs = {"T": dtype, "key": key, "target": target, "compress": self.compresses(edge, target)}
        source.after(edge.node, self._node(f"_send_{edge.node.name}_{edge.port}", SEND, attrs, (edge,), (), source))
        return key, dtype

    def compresses(self, edge: Edge, target: str) -> bool:
        if edge.dtype.base_dtype != float32:
            return False
        asked = self.compress is not None and self.compress(edge.node.device, target)
        return asked or COMPRESS in edge.node.attrs

    def send_control(self, node: Node, target: str) -> str:
        source = self.part(node.device)
        key = f"^{node.name} to {target}"
        attrs = {"key": key, "target": target}
        source.after(node, self._node(f"_send_control_{node.name}", SEND_CONTROL, attrs, (), (node,), source))
        return key

    def _node(
        self, name: str, op: object, attrs: dict[str, Any], inputs: tuple[Edge, ...], controls: tuple[Node, ...],
        part: _PartInProgress, dtype: DType | None = None, shape: TensorShape | None = None, source: object = None,
    ) -> Node:  # fmt: skip
        dtypes = () if dtype is None else (dtype,)
        shapes = () if dtype is None else (shape or TensorShape(None),)
        return Node(self.name(name), op, attrs, inputs, controls, part.device, dtypes, shapes, source)  # type: ignore[arg-type]

    make = _node


@dataclass(eq=False, slots=True)
class _PartInProgress:
    """One device's part of the step, while it is being built."""

    all: _Partitioner
    device: str
    nodes: list[Node] = field(default_factory=list)
    shared: dict[Node, None] = field(default_factory=dict)
    _received: dict[Edge, Edge] = field(default_factory=dict)
    _ran: dict[Node, Node] = field(default_factory=dict)
    _reads: dict[Edge, Edge] = field(default_factory=dict)
    _pulses: dict[Frame, Node] = field(default_factory=dict)
    _conditions: dict[Frame, Edge] = field(default_factory=dict)
    _later: dict[Node, list[Node]] = field(default_factory=dict)
    _placed: set[Node] = field(default_factory=set)
    _switches: dict[Node, list[Frame]] = field(default_factory=dict)

    def take(self, node: Node) -> None:
        """Add a node of this device, with inputs from other devices replaced by Recvs."""
        if node.op.name in NEXT_ITERATIONS:  # a device that runs the iterations of a loop has its condition
            self.condition(self.all.frames[node])
        inputs = tuple(self.here(edge) if edge.node.op.name not in BACK else edge for edge in node.inputs)
        node.controls = tuple(dict.fromkeys(c for control in node.controls for c in self.ran(control)))
        node.inputs = inputs
        self.add(node)
        if node.op.name in ENTERS and (self.all.frames[node], self.device) not in self.all.merges:
            self.pulse(self.all.frames[node])  # otherwise nodes that only use loop constants would run only once

    def add(self, node: Node) -> None:
        self.nodes.append(node)
        self._placed.add(node)
        self.nodes += self._later.pop(node, [])
        for frame in self._switches.pop(node, []):
            self._go_round(frame, Edge(node, 0))

    def after(self, node: Node, follower: Node) -> None:
        """Add `follower`, which uses outputs of `node` of this part, as soon as `node` is added."""
        if node in self._placed or is_everywhere(node):
            self.nodes.append(follower)
        else:
            self._later.setdefault(node, []).append(follower)

    def here(self, edge: Edge) -> Edge:
        """The edge on this device that carries the value of `edge`."""
        if is_everywhere(edge.node):
            self.shared[edge.node] = None
            return edge
        if edge.node.device == self.device:
            return edge
        if edge.node.op.name == "LoopCond":
            return self.condition(self.all.frame_of(edge.node))
        found = self._received.get(edge)
        if found is None:
            if edge.node.op.name == "Enter" and edge.node.attrs["is_constant"]:
                found = self._constant_of(edge)
            else:
                found = self._receive(edge, f"_recv_{edge.node.name}_{edge.port}")
            self._received[edge] = found
        return found

    def _constant_of(self, edge: Edge) -> Edge:
        """A constant of a loop: received once, outside, and not in each iteration."""
        enter = edge.node
        value = self.here(self.all.entered[enter])
        node = self.all.make(
            f"_enter_{enter.name}",
            enter.op,
            enter.attrs,
            (value,),
            (),
            self,
            enter.dtypes[0],
            enter.shapes[0],
            enter.source,
        )
        self.add(node)
        frame = self.all.frames[enter]
        self.all.frames[node] = frame
        if (frame, self.device) not in self.all.merges:
            self.pulse(frame)
        return Edge(node, 0)

    def _receive(self, edge: Edge, name: str) -> Edge:
        frame = self.all.frame_of(edge.node)
        pulse = () if frame is self.all.root else (self.pulse(frame),)
        key, dtype = self.all.send(edge, self.device)
        attrs = {"T": dtype, "key": key, "origin": edge.node.device, "compress": self.all.compresses(edge, self.device)}
        shape = edge.node.shapes[edge.port]
        node = self.all.make(name, RECV, attrs, (), pulse, self, dtype, shape, edge.node.source)
        self.add(node)
        return Edge(node, 0)

    def ran(self, control: Node) -> tuple[Node, ...]:
        """The node on this device that shows that `control` has run; None if it is always available."""
        if is_everywhere(control):
            return ()
        if control.device == self.device:
            return (control,)
        if control not in self._ran:
            frame = self.all.frame_of(control)
            pulse = () if frame is self.all.root else (self.pulse(frame),)
            attrs = {"key": self.all.send_control(control, self.device), "origin": control.device}
            node = self.all.make(f"_recv_control_{control.name}", RECV_CONTROL, attrs, (), pulse, self)
            self._ran[control] = node
            self.add(node)
        return (self._ran[control],)

    def read(self, edge: Edge) -> Edge:
        """The value of a reference of this part at the time when the reference was made."""
        if edge not in self._reads:
            attrs = {"T": edge.dtype.base_dtype}
            node = self.all.make(
                f"_read_{edge.node.name}", get_op("Identity"), attrs, (edge,), (), self,
                edge.dtype.base_dtype, edge.node.shapes[edge.port], edge.node.source,
            )  # fmt: skip
            self._reads[edge] = Edge(node, 0)
            self.after(edge.node, node)
            self._placed.add(node)
        return self._reads[edge]

    # --- loops ----------------------------------------------------------------------------------------

    def pulse(self, frame: Frame) -> Node:
        """A Merge of this part that has a token in each iteration of the loop `frame`."""
        found = self.all.merges.get((frame, self.device))
        if found is None or found not in self._placed:
            found = self._pulses.get(frame)
        return self._begin(frame) if found is None else found

    def condition(self, frame: Frame) -> Edge:
        """The loop's condition in this part: its own LoopCond on the received value."""
        cond = frame.loop_cond
        assert cond is not None
        if cond.device == self.device:
            return Edge(cond, 0)
        if frame not in self._conditions:
            self.pulse(frame)
            if frame not in self._conditions:
                received = self._receive(Edge(cond, 0), f"_recv_{cond.name}")
                node = self.all.make(
                    f"_{cond.name}", cond.op, {}, (received,), (), self, bool_dtype, TensorShape(()), cond.source
                )
                self._conditions[frame] = Edge(node, 0)
                self.add(node)
        return self._conditions[frame]

    def _begin(self, frame: Frame) -> Node:
        """A control loop: Enter, Merge, Switch and NextIteration of a token that only marks iterations."""
        assert frame.parent is not None and frame.loop_cond is not None
        parent = frame.parent
        if parent is self.all.root:
            const = self.all.make(
                f"_begin_{frame.name}", get_op("Const"), {"value": np.zeros((), bool), "dtype": bool_dtype}, (), (),
                self, bool_dtype, TensorShape(()),
            )  # fmt: skip
            self.shared[const] = None
            start = Edge(const, 0)
        else:
            start = Edge(self.pulse(parent), 0)
        first = frame.enters[0]
        attrs = {
            "T": start.dtype.base_dtype, "frame_name": first.attrs["frame_name"], "is_constant": False,
            "parallel_iterations": first.attrs["parallel_iterations"],
        }  # fmt: skip
        dtype, shape = start.dtype.base_dtype, start.node.shapes[0]
        enter = self.all.make(f"_enter_{frame.name}", get_op("Enter"), attrs, (start,), (), self, dtype, shape)
        merge = self.all.make(
            f"_merge_{frame.name}", get_op("Merge"), {"T": dtype, "N": 2}, (Edge(enter, 0),), (), self, dtype, shape
        )
        merge.dtypes, merge.shapes = (dtype, _INT32), (shape, TensorShape(()))
        self._pulses[frame] = merge
        self.add(enter)
        self.add(merge)
        cond = frame.loop_cond
        if cond.device == self.device and cond not in self._placed:
            self._switches.setdefault(cond, []).append(frame)
        else:
            self._go_round(frame, self.condition(frame))
        return merge

    def _go_round(self, frame: Frame, condition: Edge) -> None:
        merge = self._pulses[frame]
        dtype, shape = merge.dtypes[0], merge.shapes[0]
        attrs = {"T": dtype}
        switch = self.all.make(
            f"_switch_{frame.name}", get_op("Switch"), attrs, (Edge(merge, 0), condition), (), self, dtype, shape
        )
        switch.dtypes, switch.shapes = (dtype, dtype), (shape, shape)
        back = self.all.make(
            f"_next_{frame.name}", get_op("NextIteration"), attrs, (Edge(switch, 1),), (), self, dtype, shape
        )
        merge.inputs = (merge.inputs[0], Edge(back, 0))
        self.add(switch)
        self.add(back)


_INT32 = get_op("Merge").outputs[1].dtypes({})[0]
