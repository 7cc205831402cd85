"""A step to place, as plain lists of numbers: the input of the greedy placement and the simulator.

Nodes are numbered in the graph's order, devices in the hardware's. A graph of 100,000 nodes needs millions of look-ups,
so the entries are plain numbers rather than objects.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field

from penstock.analysis.peak_memory import Owners
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.graph.verify import BACK
from penstock.placement.cost_model import CostModel
from penstock.placement.hardware import Hardware
from penstock.placement.links import Routes


@dataclass(slots=True)
class Problem:
    """inputs[i]: `(producer, value)` for each distinct input of node i; values are numbered across all nodes.
    seconds[d][i]: the time of node i on device d. Back edges are left out: a loop counts as one iteration."""

    graph: StepGraph
    hardware: Hardware
    inputs: list[list[tuple[int, int]]]
    controls: list[list[int]]
    consumers: list[list[int]]
    viewers: list[list[int]]
    """The nodes that see memory allocated by node i, including through views."""
    values: list[Edge]
    value_bytes: list[float]
    output_bytes: list[float]
    state_bytes: list[float]
    seconds: list[list[float]]
    fetched: set[int]
    """The nodes whose memory is in use until the step ends."""
    everywhere: list[bool]
    """Fed values and plain constants: available on every device that uses them."""
    routes: Routes = field(init=False)
    """routes[a, b]: what a transfer from device a to device b costs."""
    made: list[list[int]] = field(init=False)
    """The values of node i that others use."""
    users: list[list[int]] = field(init=False)
    """The nodes that use value v."""
    followers: list[list[int]] = field(init=False)
    """The nodes that have a control edge from node i."""
    mean_seconds: list[float] = field(init=False)
    """The time of node i, the mean of all devices."""

    def __post_init__(self) -> None:
        names, hardware = self.hardware.names, self.hardware
        self.routes = Routes(len(names), lambda a, b: hardware.link(names[a], names[b]))
        self.made = [[] for _ in self.inputs]
        self.users = [[] for _ in self.value_bytes]
        self.followers = [[] for _ in self.inputs]
        for i, (inputs, controls) in enumerate(zip(self.inputs, self.controls, strict=True)):
            for producer, value in inputs:
                if not self.users[value]:
                    self.made[producer].append(value)
                self.users[value].append(i)
            for control in dict.fromkeys(controls):
                self.followers[control].append(i)
        kinds = {id(seconds): seconds for seconds in self.seconds}
        shares = [sum(each is kind for each in self.seconds) / len(self.seconds) for kind in kinds.values()]
        self.mean_seconds = [sum(map(operator.mul, each, shares)) for each in zip(*kinds.values(), strict=True)]

    @property
    def nodes(self) -> list[Node]:
        return self.graph.nodes


def make_problem(graph: StepGraph, hardware: Hardware, costs: CostModel) -> Problem:
    """Makes the problem of placing `graph` on `hardware`."""
    index = {node: i for i, node in enumerate(graph.nodes)}
    values: dict[Edge, int] = {}
    inputs: list[list[tuple[int, int]]] = []
    controls: list[list[int]] = []
    consumers: list[list[int]] = [[] for _ in graph.nodes]
    for i, node in enumerate(graph.nodes):
        mine = {values.setdefault(e, len(values)): index[e.node] for e in node.inputs if e.node.op.name not in BACK}
        inputs.append([(producer, value) for value, producer in mine.items()])
        controls.append([index[c] for c in node.controls])
        for j in dict.fromkeys([*mine.values(), *controls[i]]):
            consumers[j].append(i)
    value_bytes = [costs.bytes(edge) for edge in values]
    owners = Owners(graph.nodes)
    output_bytes = [sum(map(costs.bytes, owners.made[node])) for node in graph.nodes]
    viewers: list[dict[int, None]] = [{} for _ in graph.nodes]
    for i, node in enumerate(graph.nodes):
        for edge in node.inputs:
            for made in owners.shown.get(edge, ()):
                viewers[index[made.node]][i] = None
    kinds: dict[tuple[object, ...], list[float]] = {}
    seconds = []
    for device in hardware.devices:
        kind = (device.type, device.speeds)
        if kind not in kinds:
            kinds[kind] = [costs.seconds(node, device) for node in graph.nodes]
        seconds.append(kinds[kind])
    return Problem(
        graph,
        hardware,
        inputs,
        controls,
        consumers,
        list(map(list, viewers)),
        list(values),
        value_bytes,
        output_bytes,
        [costs.state_bytes(node) for node in graph.nodes],
        seconds,
        {index[made.node] for edge in graph.fetches for made in owners.shown.get(edge, ())},
        [is_everywhere(node) for node in graph.nodes],
    )


def is_everywhere(node: Node) -> bool:
    """Whether every device has the value without a transfer: feeds, and constants that wait for nothing."""
    return node.op is FEED or (node.is_constant and not node.controls)
