"""Placement strategies: functions from a problem and its constraints to a device for each node. You can register your
own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from penstock.export import export
from penstock.placement.greedy import greedy
from penstock.placement.problem import Problem
from penstock.placement.simulator import simulate
from penstock.placement.timeline import Timeline


@export("placement.Choice")
@dataclass(slots=True)
class Choice:
    """The input of a strategy: groups[i] is the group of node i, feasible[g] the devices that group g may be on,
    preferred first. Nodes and devices are numbered as in the problem."""

    problem: Problem
    groups: list[int]
    feasible: list[tuple[int, ...]]

    def spread(self, devices: Sequence[int]) -> list[int]:
        """The placement of nodes with group g on `devices[g]`."""
        return [devices[g] for g in self.groups]


Strategy = Callable[[Choice], Sequence[int]]
"""Returns a device number for each node of `choice.problem`: a feasible one, the same for all nodes of a group."""

_strategies: dict[str, Strategy] = {}


@export("placement.register_strategy")
def register_strategy(name: str) -> Callable[[Strategy], Strategy]:
    """Decorator: register a strategy for `placement.configure(config, strategy=name)`. Raises ValueError if the name is
    taken."""

    def register(strategy: Strategy) -> Strategy:
        if name in _strategies:
            raise ValueError(f"a placement strategy {name!r} is already registered")
        _strategies[name] = strategy
        return strategy

    return register


def strategy_named(name: str) -> Strategy:
    """The strategy of this name. Raises ValueError, listing all names, if there is none."""
    try:
        return _strategies[name]
    except KeyError:
        raise ValueError(f"no placement strategy {name!r}: there are {', '.join(sorted(_strategies))}") from None


@register_strategy("greedy")
def greedy_strategy(choice: Choice) -> list[int]:
    """The paper's greedy simulation, or whatever the simulator predicts to be better: nodes taken by their distance
    from the end, improved move by move if the graph is small, or all on one device."""
    candidates = [greedy(choice.problem, choice.groups, choice.feasible)]
    candidates.append(greedy(choice.problem, choice.groups, choice.feasible, by_rank=True))
    alone, timeline_alone = best_of(choice.problem, one_device_each(choice))
    placement, timeline = best_of(choice.problem, [*candidates, alone])
    if len(choice.problem.inputs) <= SMALL:
        placement, timeline = improve(choice, placement, timeline)
    if timeline_alone.excess <= timeline.excess and timeline_alone.seconds <= timeline.seconds * WORTHWHILE:
        return alone
    if not timeline.fits:
        placement = fit_memory(choice, placement, timeline)
    return placement


WORTHWHILE = 1.02
"""How many times as fast several devices must be predicted to be to be used instead of one: no prediction is exact."""
SMALL = 200
"""Graphs of up to this many nodes are improved by trying moves, each of which takes a simulated run."""
_MOVES = 400


@register_strategy("single")
def single_strategy(choice: Choice) -> list[int]:
    """Everything on the device that the simulator predicts to be best, except what may not be there."""
    return best_of(choice.problem, one_device_each(choice))[0]


@register_strategy("round_robin")
def round_robin_strategy(choice: Choice) -> list[int]:
    """Each group on the next device that allows it: a baseline for comparison."""
    turn = itertools.count()
    return choice.spread([f[next(turn) % len(f)] for f in choice.feasible])


@register_strategy("exhaustive")
def exhaustive_strategy(choice: Choice) -> list[int]:
    """The best of all placements (devices to the power of groups), so only for tiny graphs. Raises ValueError over
    10^6."""
    count = 1
    for feasible in choice.feasible:
        count *= len(feasible)
    if count > 10**6:
        raise ValueError(f"an exhaustive search would try {count} placements; it is for tiny graphs")
    return best_of(choice.problem, map(choice.spread, itertools.product(*choice.feasible)))[0]


def one_device_each(choice: Choice) -> list[list[int]]:
    """For each device (one of each kind), the placement with as much as possible on it."""
    devices = choice.problem.hardware.devices
    alike: dict[object, int] = {}
    free = all(len(f) == len(devices) for f in choice.feasible)  # else what may not be everywhere makes a difference
    for i, d in enumerate(devices):
        alike.setdefault((d.type, d.speeds, d.memory) if free else i, i)
    return [choice.spread([d if d in f else f[0] for f in choice.feasible]) for d in alike.values()]


def best_of(problem: Problem, candidates: Iterable[Sequence[int]]) -> tuple[list[int], Timeline]:
    """The placement that fits into memory and ends first; of equals, the one that comes first."""
    best: tuple[tuple[float, float], list[int], Timeline] | None = None
    for placement in candidates:
        timeline = simulate(problem, placement)
        score = (timeline.excess, timeline.seconds)
        if best is None or score < best[0]:
            best = (score, list(placement), timeline)
    assert best is not None
    return best[1], best[2]


def improve(choice: Choice, placement: list[int], timeline: Timeline) -> tuple[list[int], Timeline]:
    """Move one group at a time to another device as long as that helps, at most _MOVES trials."""
    devices = [0] * len(choice.feasible)
    for i, g in enumerate(choice.groups):
        devices[g] = placement[i]
    trials, score, changed = 0, (timeline.excess, timeline.seconds), True
    while changed:
        changed = False
        for g, feasible in enumerate(choice.feasible):
            for device in feasible:
                if device == devices[g] or trials >= _MOVES:
                    continue
                trials += 1
                before, devices[g] = devices[g], device
                found = simulate(choice.problem, choice.spread(devices))
                if (found.excess, found.seconds) < score:
                    score, timeline, changed = (found.excess, found.seconds), found, True
                else:
                    devices[g] = before
    return choice.spread(devices), timeline


def fit_memory(choice: Choice, placement: list[int], timeline: Timeline) -> list[int]:
    """A placement within every device's memory: all of them are tried where they are few, otherwise the least
    excess."""
    count = 1
    for feasible in choice.feasible:
        count *= len(feasible)
        if count > 4096:
            break
    else:
        return best_of(choice.problem, map(choice.spread, itertools.product(*choice.feasible)))[0]
    problem, devices = choice.problem, list(range(len(choice.problem.hardware.devices)))
    # First fit: the groups with most state first, each to the device with most room.
    size = [0.0] * len(choice.feasible)
    for i, g in enumerate(choice.groups):
        size[g] += problem.state_bytes[i] + problem.output_bytes[i]
    room = [problem.hardware.devices[d].memory or float("inf") for d in devices]
    where = [f[0] for f in choice.feasible]
    for g in sorted(range(len(size)), key=lambda g: -size[g]):
        where[g] = max(choice.feasible[g], key=lambda d: room[d])
        room[where[g]] -= size[g]
    return best_of(problem, [placement, choice.spread(where)])[0]
