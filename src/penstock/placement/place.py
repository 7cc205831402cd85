"""PLACE: the pass that gives every node its device."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from penstock import errors
from penstock.devices.device import Device
from penstock.graph.rewrite import copy, rewritten
from penstock.graph.step_graph import FEED, Node, StepGraph
from penstock.placement.choice import PLANNING_SECONDS, Choice, Strategy
from penstock.placement.constraints import Group, Home, find_groups
from penstock.placement.cost_model import CostModel
from penstock.placement.hardware import Hardware
from penstock.placement.problem import make_problem
from penstock.tensor.dtypes import resource


def place(
    graph: StepGraph,
    devices: Sequence[Device],
    soft: bool = False,
    strategy: Strategy | None = None,
    costs: CostModel | None = None,
    hardware: Hardware | None = None,
    pinned: Mapping[str, str] | None = None,
    home: Home | None = None,
    planning_seconds: float = PLANNING_SECONDS,
) -> StepGraph:
    """`graph` with the full name of one of `devices` as the device of every node.

    With one device, or without a strategy, each node goes to the first device that it may be on. `pinned`: the devices
    of nodes placed earlier, by name. `home`: where unconstrained nodes go. `planning_seconds`: how long the strategy
    may take. Raises InvalidArgumentError, naming nodes
    and lines, for conflicting constraints.
    """
    if len(devices) == 1 and not any(node.device for node in graph.nodes):
        return _on(graph, dict.fromkeys(graph.nodes, 0), devices)
    groups = find_groups(graph, devices, soft, pinned, home)
    if strategy is None or all(len(group.feasible) == 1 for group in groups.values()):
        return _on(graph, {node: groups[node].feasible[0] for node in graph.nodes}, devices)
    hardware = hardware or Hardware.of(list(devices))
    choice = make_choice(graph, groups, costs or CostModel(), hardware, planning_seconds)
    return _on(graph, _decide(choice, strategy), devices)


def _on(graph: StepGraph, where: Mapping[Node, int], devices: Sequence[Device]) -> StepGraph:
    """`graph` with each node on one of `devices`."""
    instead: dict[Node, Node] = {}
    for node, device in where.items():
        if node.device != devices[device].name:
            made = instead[node] = copy(node)
            made.device = devices[device].name
    return rewritten(graph, instead)


def make_choice(
    graph: StepGraph,
    groups: dict[Node, Group],
    costs: CostModel,
    hardware: Hardware,
    planning_seconds: float = PLANNING_SECONDS,
) -> Choice:
    """Makes the argument of a strategy."""
    number: dict[Group, int] = {}
    of = [number.setdefault(groups[node], len(number)) for node in graph.nodes]
    return Choice(make_problem(graph, hardware, costs), of, [group.feasible for group in number], planning_seconds)


def _decide(choice: Choice, strategy: Strategy) -> dict[Node, int]:
    """What `strategy` decides. Raises InvalidArgumentError if it may not."""
    graph, hardware = choice.problem.graph, choice.problem.hardware
    found = list(strategy(choice))
    if len(found) != len(graph.nodes):
        raise errors.InvalidArgumentError(
            None, None, f"The placement strategy gave {len(found)} devices for {len(graph.nodes)} nodes."
        )
    of_group: dict[int, int] = {}
    for node, g, device in zip(graph.nodes, choice.groups, found, strict=True):
        if device not in choice.feasible[g] or of_group.setdefault(g, device) != device:
            names = hardware.names
            allowed = ", ".join(names[d] for d in choice.feasible[g])
            where = names[device] if isinstance(device, int) and 0 <= device < len(names) else repr(device)
            raise errors.InvalidArgumentError(
                None,
                None,
                f"The placement strategy put {node.name} on {where}, apart from its group or outside [{allowed}].",
            )
    return dict(zip(graph.nodes, found, strict=True))


def log_placement(graph: StepGraph) -> None:
    """A line on stderr for each node, for ConfigProto.log_device_placement, whatever tf.logging's level."""
    for node in graph.nodes:
        if node.op is not FEED:
            print(f"{node.name}: ({node.op.name}): {node.device}", file=sys.stderr)


class Placement:
    """Where the state of a session is: the same in all of its steps.

    lock: held while placing, from reading `devices` to `keep`, so that no two steps place the same variable.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._devices: dict[str, str] = {}

    @property
    def devices(self) -> Mapping[str, str]:
        """The device of each node that holds state and has been placed, by name."""
        return MappingProxyType(self._devices)

    def keep(self, graph: StepGraph) -> None:
        """Record where state is in `graph`, which has been placed."""
        for node in graph.nodes:
            if node.op.stateful and any(d._is_ref_dtype or d == resource for d in node.dtypes):
                self._devices.setdefault(node.name, node.device)
