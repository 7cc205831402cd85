"""How long a step takes, and no more: a lean simulator, with which many placements are compared."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from penstock.placement.problem import Problem

_ENDED, _READY = 0, 1


def effort(problem: Problem) -> int:
    """What a makespan takes: so many nodes and edges are visited."""
    return len(problem.inputs) + sum(map(len, problem.inputs)) + sum(map(len, problem.controls))


class Makespan:
    """`seconds(placement)` is what `simulate` says, as long as links share no wires and devices no cores."""

    def __init__(self, problem: Problem) -> None:
        p = self._p = problem
        self._waiting = [len(a) + len(set(b)) for a, b in zip(p.inputs, p.controls, strict=True)]
        self._outs: list[list[tuple[float, list[int]]]] = [
            [(p.value_bytes[v], p.users[v]) for v in made] for made in p.made
        ]
        for outs, followers in zip(self._outs, p.followers, strict=True):
            if followers:
                outs.append((0.0, followers))
        self.effort = effort(p)

    def seconds(self, placement: Sequence[int]) -> float:
        p, outs = self._p, self._outs
        seconds, everywhere, routes = p.seconds, p.everywhere, p.routes
        devices = len(seconds)
        waiting, ready = self._waiting.copy(), [0.0] * len(placement)
        busy = [False] * devices
        queues: list[list[tuple[float, int]]] = [[] for _ in range(devices)]
        link_free: dict[tuple[int, int], float] = {}
        wire_free = [0.0] * len(routes.capacity)
        events = [(0.0, _READY, i) for i, n in enumerate(waiting) if not n]
        heapq.heapify(events)
        push, pop = heapq.heappush, heapq.heappop
        now = 0.0
        while events:
            now, kind, i = pop(events)
            device = placement[i]
            if kind == _READY:
                cost = seconds[device][i]
                if cost:
                    if busy[device]:
                        push(queues[device], (now, i))
                    else:
                        busy[device] = True
                        push(events, (now + cost, _ENDED, i))
                    continue
            elif queues[device]:
                k = pop(queues[device])[1]
                push(events, (now + seconds[device][k], _ENDED, k))
            else:
                busy[device] = False
            for size, users in outs[i]:
                arrivals = {device: now}
                for k in users:
                    target = placement[k]
                    when = arrivals.get(target)
                    if when is None:
                        if everywhere[i]:
                            when = now
                        else:
                            route = routes[device, target]
                            begin = max(now, link_free.get((device, target), 0.0))
                            for wire in route.wires:
                                while wire >= len(wire_free):
                                    wire_free.append(0.0)
                                begin = max(begin, wire_free[wire])
                            for wire in route.wires:
                                wire_free[wire] = begin + size / routes.capacity[wire]
                            when = link_free[device, target] = begin + size / route.rate
                            when += route.latency
                        arrivals[target] = when
                    if when > ready[k]:
                        ready[k] = when
                    waiting[k] -= 1
                    if not waiting[k]:
                        push(events, (ready[k], _READY, k))
        return now
