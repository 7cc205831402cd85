"""What no placement can beat."""

from __future__ import annotations

from penstock.export import export
from penstock.placement.problem import Problem


@export("placement.lower_bound")
def lower_bound(problem: Problem) -> float:
    """The seconds that the step takes at least: the critical path with each node on the device that is fastest for it
    and nothing to transfer, or all the work divided among all devices."""
    fastest = [min(each) for each in zip(*problem.seconds, strict=True)]
    ends = [0.0] * len(fastest)
    for i, seconds in enumerate(fastest):
        before = [ends[j] for j, _ in problem.inputs[i]] + [ends[j] for j in problem.controls[i]]
        ends[i] = max(before, default=0.0) + seconds
    return max(max(ends, default=0.0), _divided(problem, fastest))


def _divided(problem: Problem, fastest: list[float]) -> float:
    """Each device does at most as many times the fastest's work in a second as for the node that suits it best."""
    speeds = [
        max((least / each for least, each in zip(fastest, seconds, strict=True) if each), default=1.0)
        for seconds in problem.seconds
    ]
    return sum(fastest) / sum(speeds)
