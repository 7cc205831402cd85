"""What a strategy decides: the step to place, and what its constraints leave open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penstock.export import export
from penstock.placement.problem import Problem

PLANNING_SECONDS = 2.0


@export("placement.Choice")
@dataclass(slots=True)
class Choice:
    """The input of a strategy: groups[i] is the group of node i, feasible[g] the devices that group g may be on,
    preferred first. Nodes and devices are numbered as in the problem. seconds: about how long the strategy may take."""

    problem: Problem
    groups: list[int]
    feasible: list[tuple[int, ...]]
    seconds: float = PLANNING_SECONDS

    def spread(self, devices: Sequence[int]) -> list[int]:
        """The placement of nodes with group g on `devices[g]`."""
        return [devices[g] for g in self.groups]

    def of_groups(self, placement: Sequence[int]) -> list[int]:
        """The device of each group in a placement of nodes."""
        devices = [f[0] for f in self.feasible]
        for g, device in zip(self.groups, placement, strict=True):
            devices[g] = device
        return devices


Strategy = Callable[[Choice], Sequence[int]]
"""Returns a device number for each node of `choice.problem`: a feasible one, the same for all nodes of a group."""
