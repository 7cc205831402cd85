"""What the product's strategy is compared with: textbook placements, other people's libraries, long searches."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Sequence

from bench.placement.graphs import PARTS
from penstock.placement import Choice, best_of, one_device_each, simulate
from penstock.placement.choice import Strategy
from penstock.placement.makespan import Makespan
from penstock.placement.problem import Problem
from penstock.placement.simulator import shares_cores
from penstock.placement.strategies import strategy_named


def paper(choice: Choice) -> list[int]:
    """Section 3.2.1 as printed: a node goes to the device where it ends first. Transfers do not wait for each other."""
    p = choice.problem
    device = [f[0] if len(f) == 1 else -1 for f in choice.feasible]
    free, ends = [0.0] * len(p.seconds), [0.0] * len(p.inputs)

    def start(i: int, d: int) -> float:
        arrivals = [free[d]]
        for j, value in p.inputs[i]:
            source = device[choice.groups[j]]
            arrivals.append(ends[j] + _sending(p, j, value, source, d))
        return max(arrivals + [ends[j] for j in p.controls[i]])

    for i in range(len(p.inputs)):  # in the order of a graph, which is that of a run
        g = choice.groups[i]
        if device[g] < 0:
            device[g] = min(choice.feasible[g], key=lambda d: start(i, d) + p.seconds[d][i])
        d = device[g]
        ends[i] = start(i, d) + p.seconds[d][i]
        if p.seconds[d][i]:
            free[d] = ends[i]
    return choice.spread(device)


def _sending(p: Problem, producer: int, value: int, source: int, target: int) -> float:
    """The seconds of a transfer that is alone; what has no device yet will come here."""
    if source in (-1, target) or p.everywhere[producer]:
        return 0.0
    route = p.routes[source, target]
    return route.latency + p.value_bytes[value] / route.rate


def heft(choice: Choice) -> list[int]:
    """Heterogeneous earliest finish time (Topcuoglu, Hariri, Wu, 2002): the longest way to the end first, each node in
    the earliest gap of a device's schedule that is long enough."""
    p = choice.problem
    latency, per_byte = p.routes.mean()
    rank = p.mean_seconds.copy()
    for i in range(len(rank) - 1, -1, -1):
        for j, value in p.inputs[i]:
            sending = 0.0 if p.everywhere[j] else latency + p.value_bytes[value] * per_byte
            rank[j] = max(rank[j], rank[i] + sending + p.mean_seconds[j])
        for j in p.controls[i]:
            rank[j] = max(rank[j], rank[i] + p.mean_seconds[j])
    device = [f[0] if len(f) == 1 else -1 for f in choice.feasible]
    ends = [0.0] * len(rank)
    gaps: list[list[tuple[float, float]]] = [[(0.0, math.inf)] for _ in p.seconds]

    def begin(i: int, d: int) -> tuple[float, int]:
        when = max((ends[j] for j in p.controls[i]), default=0.0)
        for j, value in p.inputs[i]:
            source = device[choice.groups[j]]
            when = max(when, ends[j] + _sending(p, j, value, source, d))
        n = next(n for n, (a, b) in enumerate(gaps[d]) if max(a, when) + p.seconds[d][i] <= b)
        return max(gaps[d][n][0], when), n

    for i in sorted(range(len(rank)), key=lambda i: (-rank[i], i)):
        g = choice.groups[i]
        if device[g] < 0:
            device[g] = min(choice.feasible[g], key=lambda d: begin(i, d)[0] + p.seconds[d][i])
        d = device[g]
        start, n = begin(i, d)
        ends[i] = start + p.seconds[d][i]
        if p.seconds[d][i]:
            a, b = gaps[d][n]
            gaps[d][n : n + 1] = [gap for gap in ((a, start), (ends[i], b)) if gap[1] > gap[0]]
    return choice.spread(device)


def by_hand(choice: Choice) -> list[int]:
    """Layers, towers or blocks on devices as a person would put them, gradients with what they are the gradients of,
    the rest with what sends it most. Raises ValueError if nobody has thought about the graph."""
    p, count = choice.problem, len(choice.problem.seconds)
    device = [f[0] if len(f) == 1 else -1 for f in choice.feasible]
    for node, g in zip(p.nodes, choice.groups, strict=True):
        forward = re.sub(r"^gradients\w*/(.*)_grad(_\d+)?/.*", r"\1", node.name)
        if node.name in PARTS or forward in PARTS:
            wanted = int(PARTS.get(node.name, PARTS.get(forward, 0.0)) * count)
            if wanted in choice.feasible[g]:
                device[g] = max(device[g], wanted)
    if max(device) < 0:
        raise ValueError("nobody has said where its parts should be")
    for _ in range(10):  # until all have a neighbour that has a device
        near: list[dict[int, float]] = [{} for _ in device]
        for i, inputs in enumerate(p.inputs):
            for j, value in inputs:
                a, b = choice.groups[i], choice.groups[j]
                for here, there in ((a, b), (b, a)):
                    if device[here] < 0 <= device[there] and not p.everywhere[j]:
                        near[here][device[there]] = near[here].get(device[there], 0.0) + p.value_bytes[value]
        for g, found in enumerate(near):
            if found:
                device[g] = max(found, key=lambda d: found[d])
    return choice.spread([d if d in f else f[0] for d, f in zip(device, choice.feasible, strict=True)])


def minimum_cut(choice: Choice) -> list[int]:
    """The fewest bytes between parts of the same work: recursive bisection by Kernighan and Lin, from networkx."""
    import networkx

    p = choice.problem
    graph = networkx.Graph()
    work = [0.0] * len(choice.feasible)
    for i, g in enumerate(choice.groups):
        work[g] += p.mean_seconds[i]
    graph.add_nodes_from(range(len(work)))
    for i, inputs in enumerate(p.inputs):
        for j, value in inputs:
            a, b = choice.groups[i], choice.groups[j]
            if a != b and not p.everywhere[j]:
                before = graph.edges[a, b]["weight"] if graph.has_edge(a, b) else 0.0
                graph.add_edge(a, b, weight=before + p.value_bytes[value])
    parts = [sorted(graph)]
    while len(parts) < len(p.seconds):
        largest = max(parts, key=lambda part: sum(work[g] for g in part))
        parts.remove(largest)
        parts += _halves(networkx, graph.subgraph(largest), work)
    device = [f[0] for f in choice.feasible]
    for d, part in enumerate(parts):
        for g in part:
            if d in choice.feasible[g]:
                device[g] = d
    return choice.spread(device)


def _halves(networkx: object, graph: object, work: Sequence[float]) -> list[list[int]]:
    nodes = sorted(graph)  # type: ignore[call-overload]
    half, total, first = sum(work[g] for g in nodes) / 2, 0.0, set()
    for g in nodes:
        if total < half:
            first.add(g)
            total += work[g]
    found = networkx.community.kernighan_lin_bisection(graph, (first, set(nodes) - first), seed=0)  # type: ignore[attr-defined]
    return [sorted(part) for part in found]


def annealing(choice: Choice, seconds: float = 20.0) -> list[int]:
    """Moves of one group, at first also to where the step takes longer: from the product's placement, for ten times as
    long."""
    time = _timer(choice.problem)
    devices = choice.of_groups(strategy_named("greedy")(choice))
    dice = random.Random(0)
    now = best = time(choice.spread(devices))
    found = devices.copy()
    movable = [g for g, f in enumerate(choice.feasible) if len(f) > 1]
    tries = int(seconds * 2e6 / (len(choice.problem.inputs) * 3))
    for n in range(tries if movable else 0):
        heat = 0.02 * now * (1 - n / tries) ** 2 + 1e-12
        g = dice.choice(movable)
        before, devices[g] = devices[g], dice.choice(choice.feasible[g])
        after = time(choice.spread(devices))
        if after < now or dice.random() < math.exp((now - after) / heat):
            now = after
            if now < best:
                best, found = now, devices.copy()
        else:
            devices[g] = before
    return choice.spread(found)


def _timer(problem: Problem):  # type: ignore[no-untyped-def]
    if shares_cores(problem.hardware) or any(device.memory for device in problem.hardware.devices):

        def simulated(placement: Sequence[int]) -> float:
            timeline = simulate(problem, placement)
            return timeline.seconds * (1.0 if timeline.fits else 1e3)

        return simulated
    return Makespan(problem).seconds


def single(choice: Choice) -> list[int]:
    return best_of(choice.problem, one_device_each(choice))[0]


def exact(choice: Choice) -> list[int]:
    """The best of all placements of what takes time or holds state. Raises ValueError if they are more than 20,000."""
    p = choice.problem
    matters = {g for i, g in enumerate(choice.groups) if p.mean_seconds[i] or p.state_bytes[i]}
    open_groups = [g for g in sorted(matters) if len(choice.feasible[g]) > 1]
    if math.prod(len(choice.feasible[g]) for g in open_groups) > 20_000:
        raise ValueError("too many placements to try all")
    candidates = []
    for devices in itertools.product(*(choice.feasible[g] for g in open_groups)):
        of = [f[0] for f in choice.feasible]
        for g, d in zip(open_groups, devices, strict=True):
            of[g] = d
        candidates.append(choice.spread(of))
    return best_of(p, candidates)[0]


STRATEGIES: dict[str, Strategy] = {
    "by hand": by_hand,
    "single": single,
    "round robin": strategy_named("round_robin"),
    "paper": paper,
    "HEFT": heft,
    "min-cut": minimum_cut,
    "greedy": strategy_named("greedy"),
    "annealing": annealing,
    "exact": exact,
}
