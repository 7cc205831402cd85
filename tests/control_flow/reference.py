"""A reference interpreter of the control-flow primitives: slow, and obvious (white paper section 4.4).

It runs a step by the definition of the tagged-token machine. A token is a value, or DEAD, on its way to one
input of a node; its tag says where in the loops it is: `((frame name, iteration), ...)`, the outermost loop
first, `()` outside any. Tokens of one tag meet at a node. A node fires once for each tag, when all its inputs
and control inputs have come; if one of them is dead, so is all that it gives. Exceptions are the primitives:

- Switch gives its value on the port of its predicate, DEAD on the other.
- Merge fires on the first live input, and is dead when all are. A loop's Merge gets one input for each tag:
  the Enter's in iteration 0, a NextIteration's in any later one. Dead control inputs do not make it dead.
- Enter gives its value in iteration 0 of its frame; a constant one in every iteration that there is.
- NextIteration gives its value in the next iteration; a dead one gives nothing, which is how loops end.
- Exit gives its value outside the frame, once it has a live one. If it never has, it gives DEAD when the
  frame is over: when all Enters have come, no frame inside is open, and nothing can fire any more.
- ControlTrigger is never dead.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.devices.device import devices_for
from penstock.graph.opdef import Bound, PassThrough
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.ops.control_flow import ENTERS, EXITS, MERGES, NEXT_ITERATIONS, PRIMITIVES, SWITCHES
from penstock.passes.pipeline import StepOptions, prepare
from penstock.runtime.kernels import make_kernel
from penstock.runtime.resources import VariableState
from penstock.runtime.values import feed_converter, fetch_converter
from penstock.session.fetches import FetchPlan
from penstock.session.session import BaseSession
from penstock.tensor.dtypes import resource

DEAD: Any = type("Dead", (), {"__repr__": lambda self: "DEAD"})()
MOST_ITERATIONS = 1000
Tag = tuple[tuple[str, int], ...]


def run_reference(session: BaseSession, fetches: list[Any], feed_dict: dict[Any, Any] | None = None) -> list[Any]:
    """What `session.run(fetches, feed_dict)` must give. InvalidArgumentError for a fetch that is dead."""
    feed_dict = feed_dict or {}
    wanted = FetchPlan(session.graph, list(fetches))
    graph = prepare(list(feed_dict), wanted.tensors, wanted.targets, StepOptions(devices_for()))
    device = torch.device("cpu")
    fed = [feed_converter(n.attrs["tensor"], device)(v) for n, v in zip(graph.feeds, feed_dict.values(), strict=True)]
    with torch.inference_mode():
        found = Reference(graph, session).run(fed)
    return wanted.unpack(
        tuple(fetch_converter(e.dtype, device, True)(v) for e, v in zip(graph.fetches, found, strict=True))
    )


class Reference:
    """One step of a graph."""

    def __init__(self, graph: StepGraph, session: BaseSession) -> None:
        self.graph = graph
        device = torch.device("cpu")
        self.kernels = {
            n: make_kernel(n, "CPU", device, session._state)
            for n in graph.nodes
            if n.op is not FEED and n.op.name not in PRIMITIVES
        }
        self.consumers: dict[Node, list[Node]] = defaultdict(list)
        for node in graph.nodes:
            for source in {edge.node for edge in node.inputs} | set(node.controls):
                self.consumers[source].append(node)
        self.data: dict[tuple[Node, Tag], dict[int, Any]] = defaultdict(dict)  # input -> token
        self.controls: dict[tuple[Node, Tag], dict[Node, bool]] = defaultdict(dict)  # control input -> dead?
        self.fired: set[tuple[Node, Tag]] = set()
        self.outputs: dict[tuple[Edge, Tag], Any] = {}
        self.to_look_at: deque[tuple[Node, Tag]] = deque()
        # Frames are named by the tag around them and their name.
        self.entered: dict[tuple[Tag, str], set[Node]] = defaultdict(set)
        self.left: dict[tuple[Tag, str], set[Node]] = defaultdict(set)
        self.iterations: dict[tuple[Tag, str], int] = {}  # how many have begun
        self.over: set[tuple[Tag, str]] = set()
        self.constants: dict[tuple[Tag, str], dict[Node, Any]] = defaultdict(dict)

    def run(self, fed: list[Any]) -> list[Any]:
        for node, value in zip(self.graph.feeds, fed, strict=True):
            self.send(node, (), [value], False)
        self.to_look_at += [(n, ()) for n in self.graph.nodes if n.op is not FEED and not n.inputs and not n.controls]
        while True:
            while self.to_look_at:
                node, tag = self.to_look_at.popleft()
                if (node, tag) not in self.fired and self.can_fire(node, tag):
                    self.fired.add((node, tag))
                    self.fire(node, tag)
            if not self.end_a_frame():
                break
        return [self.result(edge) for edge in self.graph.fetches]

    def result(self, edge: Edge) -> Any:
        value = self.outputs[edge, ()]
        if value is DEAD:
            raise errors.InvalidArgumentError(None, None, f"Retval {edge.name} does not have value: it is dead.")
        return value.read().clone() if isinstance(value, VariableState) else value

    # --- firing ---------------------------------------------------------------------------------------

    def can_fire(self, node: Node, tag: Tag) -> bool:
        data = self.data[node, tag]
        if len(self.controls[node, tag]) < len(set(node.controls)):
            return False
        if node.op.name in MERGES:
            in_loop = any(e.node.op.name in NEXT_ITERATIONS for e in node.inputs)
            live = any(value is not DEAD for value in data.values())
            return live or len(data) == (1 if in_loop else len(node.inputs))
        return len(data) == len(node.inputs)

    def fire(self, node: Node, tag: Tag) -> None:
        data = self.data[node, tag]
        name = node.op.name
        live = [i for i in sorted(data) if data[i] is not DEAD]
        dead = len(live) < len(data) or any(self.controls[node, tag].values())
        if name in MERGES:
            dead = not live
        elif name == "ControlTrigger":
            dead = False

        if name in ENTERS:
            self.enter(node, tag, DEAD if dead else data[0])
        elif name in EXITS:
            self.exit(node, tag, DEAD if dead else data[0])
        elif name in NEXT_ITERATIONS:
            if not dead:
                *around, (frame, iteration) = tag
                self.begin_iteration(tuple(around), frame, iteration + 1)
                self.send(node, (*around, (frame, iteration + 1)), [data[0]], False)
        elif dead:
            self.send(node, tag, [DEAD] * len(node.dtypes), True)
        elif name in SWITCHES:
            self.send(node, tag, [DEAD, data[0]] if bool(data[1]) else [data[0], DEAD], False)
        elif name in MERGES:
            self.send(node, tag, [data[live[0]], torch.tensor(live[0], dtype=torch.int32)], False)
        elif name == "LoopCond":
            self.send(node, tag, [data[0]], False)
        else:
            self.send(node, tag, self.call(node, [data[i] for i in range(len(data))]), False)

    def call(self, node: Node, data: list[Any]) -> list[Any]:
        """What the kernel of `node` gives. All values are copies, so that no token changes later."""
        kernel = self.kernels[node]
        if kernel is None:
            return []
        if isinstance(kernel, Bound):
            return [kernel.value]
        arguments: list[Any] = []
        rest = list(data)
        for arg in node.op.inputs:
            values = [rest.pop(0) for _ in arg.dtypes(node.attrs)]
            if not arg.is_ref:  # a value is wanted: a reference is read
                values = [
                    v.read().clone() if isinstance(v, VariableState) and arg.dtype != resource else v for v in values
                ]
            arguments.append(values if arg.is_list else values[0])
        if isinstance(kernel, PassThrough):
            return [arguments[0]]
        found = kernel(*arguments)
        single = len(node.op.outputs) == 1 and not node.op.outputs[0].is_list
        outputs = [found] if single else list(found) if node.dtypes else []
        return [
            v.clone() if isinstance(v, torch.Tensor) else v.copy() if isinstance(v, np.ndarray) else v for v in outputs
        ]

    def send(self, node: Node, tag: Tag, values: list[Any], dead: bool) -> None:
        """`values` to the consumers of the outputs of `node`, in `tag`; `dead` to what waits for it."""
        for port, value in enumerate(values):
            self.outputs[Edge(node, port), tag] = value
        for consumer in self.consumers[node]:
            for index, edge in enumerate(consumer.inputs):
                if edge.node is node:
                    self.data[consumer, tag][index] = values[edge.port]
            if node in consumer.controls:
                self.controls[consumer, tag][node] = dead
            self.to_look_at.append((consumer, tag))

    # --- frames ---------------------------------------------------------------------------------------

    def enter(self, node: Node, tag: Tag, value: Any) -> None:
        name = node.attrs["frame_name"].decode()
        self.entered[tag, name].add(node)
        self.begin_iteration(tag, name, 0)
        if node.attrs["is_constant"]:
            self.constants[tag, name][node] = value
        for iteration in range(self.iterations[tag, name] if node.attrs["is_constant"] else 1):
            self.send(node, (*tag, (name, iteration)), [value], value is DEAD)

    def begin_iteration(self, around: Tag, name: str, iteration: int) -> None:
        if iteration < self.iterations.get((around, name), 0):
            return
        if iteration > MOST_ITERATIONS:
            raise RecursionError(f"the loop {name!r} does not end")
        self.iterations[around, name] = iteration + 1
        for node, value in self.constants[around, name].items():
            self.send(node, (*around, (name, iteration)), [value], value is DEAD)

    def exit(self, node: Node, tag: Tag, value: Any) -> None:
        *around, (name, _) = tag
        if value is not DEAD:
            self.left[tuple(around), name].add(node)
            self.send(node, tuple(around), [value], False)

    def end_a_frame(self) -> bool:
        """End one frame in which all has been done, if there is one: Exits that gave nothing give DEAD."""
        for around, name in sorted(set(self.iterations) - self.over, key=lambda f: -len(f[0])):
            enters = [n for n in self.graph.nodes if n.op.name in ENTERS and n.attrs["frame_name"].decode() == name]
            inside = [tag for tag, _ in set(self.iterations) - self.over if self.is_in(tag, around, name)]
            if inside or len(self.entered[around, name]) < len(enters):
                continue
            self.over.add((around, name))
            for node in self.exits_of(name):
                if node not in self.left[around, name]:
                    self.send(node, around, [DEAD], True)
            return True
        return False

    @staticmethod
    def is_in(tag: Tag, around: Tag, name: str) -> bool:
        return len(tag) > len(around) and tag[: len(around)] == around and tag[len(around)][0] == name

    def exits_of(self, name: str) -> list[Node]:
        return [n for n in self.graph.nodes if n.op.name in EXITS and self.frame_of(n) == name]

    def frame_of(self, node: Node) -> str:
        """The name of the frame that an Exit leaves: that of the Enter it goes back to, past loops inside."""
        inside = 1
        while True:
            node = node.inputs[0].node
            if node.op.name in EXITS:
                inside += 1
            elif node.op.name in ENTERS:
                inside -= 1
                if not inside:
                    return node.attrs["frame_name"].decode()
