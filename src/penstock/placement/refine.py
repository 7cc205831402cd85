"""Search: placements are tried, clusters of groups at a time, within an effort that stands for seconds."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from penstock.placement.choice import Choice
from penstock.placement.coarsen import Affinity
from penstock.placement.greedy import greedy
from penstock.placement.makespan import Makespan
from penstock.placement.problem import Problem
from penstock.placement.simulator import shares_cores, simulate

EFFORT_PER_SECOND = 2.5e6
"""Nodes and edges visited: it is counted instead of time, so that the same step is always placed alike."""
CLUSTERS, GREEDY, SIMULATION = 8, 3, 4
"""How many times the effort of a makespan these are."""
CAPS = (0.5, 1.1, 0.25, 0.125, 0.06, 0.03, 0.0)
"""Of clusters: shares of the work that there is for each device."""
ORDERS = ((True, False), (True, True), (False, True), (False, False))
"""Of the greedy placement: by rank or not, balanced or not."""
STARTS, MORE = 3, 7
"""How many placements are improved, and how many more if there is effort left: not if the graph is large."""

Score = tuple[float, float]
"""Bytes that no device has, seconds; what is lower is better."""


class Search:
    """What has been tried for a choice, and how much may still be."""

    def __init__(self, choice: Choice, effort: float) -> None:
        self.choice, self.left = choice, effort
        problem = choice.problem
        self.affinities = [Affinity(problem, choice.groups, choice.feasible, divided) for divided in (False, True)]
        self.work = self.affinities[0].work
        self.limits = [device.memory for device in problem.hardware.devices if device.memory]
        self.makespan = Makespan(problem)
        self.simulates = bool(self.limits) or shares_cores(problem.hardware)
        self.levels: list[list[list[int]]] = []
        """Groups that are moved together: in large clusters first."""
        self.clusters: set[tuple[int, ...]] = set()
        self.found: dict[tuple[int, ...], Score] = {}

    def score(self, devices: Sequence[int]) -> Score:
        """Of group g on `devices[g]`."""
        placement = self.choice.spread(devices)
        if self.simulates:
            self.left -= SIMULATION * self.makespan.effort
            timeline = simulate(self.choice.problem, placement)
            return timeline.excess, timeline.seconds
        self.left -= self.makespan.effort
        return 0.0, self.makespan.seconds(placement)

    def start(self, given: Iterable[Sequence[int]]) -> None:
        """Scores `given` devices of groups and, while there is effort left for half, what the greedy placement makes of
        clusters of several sizes."""
        for devices in given:
            self._add(devices)
        share = sum(self.work) / len(self.choice.problem.seconds)
        for most_bytes in [min(self.limits) * part for part in (0.9, 0.4, 0.15)] if self.limits else [float("inf")]:
            for cap, affinity in itertools.product(CAPS, self.affinities):
                self.left -= CLUSTERS * self.makespan.effort
                clusters = affinity.clusters(cap * share, most_bytes=most_bytes)
                if tuple(clusters) not in self.clusters:
                    self.clusters.add(tuple(clusters))
                    self._try(clusters)
                if self.left <= 0:
                    return

    def _try(self, clusters: list[int]) -> None:
        members: list[list[int]] = [[] for _ in range(max(clusters, default=-1) + 1)]
        for g, cluster in enumerate(clusters):
            members[cluster].append(g)
        work = self.work
        self.levels.append(sorted(members, key=lambda groups: -sum(work[g] for g in groups)))
        feasible = [self._allowed(groups) for groups in members]
        sizes = self.affinities[0].bytes if self.limits else self.work
        self._add(in_a_row(members, feasible, sizes, len(self.choice.problem.seconds)))
        if self.limits:
            self._add(packed(members, feasible, self.affinities[0].bytes, self.choice.problem))
        of_nodes = [clusters[g] for g in self.choice.groups]
        for by_rank, balanced in ORDERS:
            self.left -= GREEDY * self.makespan.effort
            placement = greedy(self.choice.problem, of_nodes, feasible, by_rank, balanced)
            self._add(self.choice.of_groups(placement))
            if self.left <= 0:
                return

    def _allowed(self, groups: list[int]) -> tuple[int, ...]:
        first, *others = (self.choice.feasible[g] for g in groups)
        return tuple(d for d in first if all(d in other for other in others))

    def _add(self, devices: Sequence[int]) -> None:
        key = tuple(devices)
        if key not in self.found:
            self.found[key] = self.score(key)

    def best(self, count: int = 1) -> list[tuple[int, ...]]:
        """The best that have been tried, of those of the same score the first."""
        by_score: dict[Score, tuple[int, ...]] = {}
        for devices, score in self.found.items():
            by_score.setdefault(score, devices)
        return [by_score[score] for score in sorted(by_score)[:count]]

    def improve(self, enough: float) -> None:
        """Moves clusters of the best placements, one at a time, until nothing helps, the step takes only `enough`
        seconds, or there is no effort left."""
        starts = self.best(STARTS + MORE)
        for n, devices in enumerate(starts[:STARTS]):
            self._climb(list(devices), enough, self.left * (1 - 1 / (2 * (STARTS - n))))
        for devices in [*self.best(), *starts[STARTS:]]:
            self._climb(list(devices), enough, 0.0)

    def _climb(self, devices: list[int], enough: float, until: float) -> None:
        best = self.found[tuple(devices)]
        count = len(self.choice.problem.seconds)
        improved = True
        while improved:
            improved = False
            for level in self.levels:
                for groups in level:
                    allowed = self._allowed(groups)
                    for device in range(count):
                        if device not in allowed or all(devices[g] == device for g in groups):
                            continue
                        if self.left <= until or best <= (0.0, enough):
                            self.found[tuple(devices)] = best
                            return
                        before = [devices[g] for g in groups]
                        for g in groups:
                            devices[g] = device
                        score = self.score(devices)
                        if score < best:
                            best, improved = score, True
                        else:
                            for g, d in zip(groups, before, strict=True):
                                devices[g] = d
        self.found[tuple(devices)] = best


def packed(
    members: Sequence[Sequence[int]], feasible: Sequence[Sequence[int]], size: Sequence[float], problem: Problem
) -> list[int]:
    """The devices of groups, of which `members` are together: what holds most first, each where most room is left."""
    room = [device.memory or float("inf") for device in problem.hardware.devices]
    found = [0] * len(size)
    sizes = [sum(size[g] for g in groups) for groups in members]
    for n in sorted(range(len(members)), key=lambda n: -sizes[n]):
        device = max(feasible[n], key=lambda d: room[d])
        room[device] -= sizes[n]
        for g in members[n]:
            found[g] = device
    return found


def in_a_row(
    members: Sequence[Sequence[int]], feasible: Sequence[Sequence[int]], size: Sequence[float], devices: int
) -> list[int]:
    """The same, clusters that follow each other in the graph together, of about the same size on each device."""
    found = [0] * len(size)
    before, total = 0.0, sum(size) or 1.0
    for groups, allowed in zip(members, feasible, strict=True):
        here = sum(size[g] for g in groups)
        device = min(devices - 1, int((before + here / 2) / total * devices))
        before += here
        for g in groups:
            found[g] = device if device in allowed else allowed[0]
    return found
