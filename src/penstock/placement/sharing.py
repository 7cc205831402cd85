"""Fair sharing of what is limited: wires by transfers, the cores of a host by the nodes that run on it.

An `Activity` proceeds at a rate of at most its own limit, and uses some of each of its resources in proportion to that
rate. Rates are max-min fair: as equal as possible, without leaving anything unused that would let one go faster. They
change whenever an activity begins or ends, so ends are predicted anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

ROUNDING = 1 + 1e-9


@dataclass(slots=True, eq=False)
class Activity:
    """left: the work that remains. limit: its rate when alone. weight: what it uses of each resource at rate 1.

    done: to be called with `about` when it ends.
    """

    left: float
    limit: float
    resources: tuple[int, ...]
    weight: float
    done: Callable[[Any], None]
    about: Any
    rate: float = field(default=0.0, init=False)
    since: float = field(default=0.0, init=False)
    ends: float = field(default=float("inf"), init=False)


class Sharing:
    """The activities at one time. capacity[r]: how much of resource r there is; more resources may be added to it."""

    def __init__(self, capacity: Sequence[float]) -> None:
        self.capacity = capacity
        self.users: defaultdict[int, dict[Activity, None]] = defaultdict(dict)
        self.demand: defaultdict[int, float] = defaultdict(float)
        """What would be used of each resource if all its users had their limits."""
        self.changed: dict[int, None] = {}
        """Resources whose users may have other rates after `settle`."""

    def begin(self, activity: Activity, now: float) -> None:
        """Begins it. Its end is known after `settle`."""
        activity.since = now
        self.changed.update(dict.fromkeys(activity.resources))
        for r in activity.resources:
            self.users[r][activity] = None
            self.demand[r] += activity.limit * activity.weight

    def end(self, activity: Activity) -> None:
        """Takes it away. The ends of others may be earlier after `settle`."""
        for r in activity.resources:
            if self._full(r):
                self.changed[r] = None
            del self.users[r][activity]
            self.demand[r] -= activity.limit * activity.weight
        activity.ends = float("inf")

    def _full(self, r: int) -> bool:
        return self.demand[r] > self.capacity[r] * ROUNDING

    def settle(self, now: float) -> list[Activity]:
        """Those whose `ends` has changed, now that activities have begun and ended."""
        changed: list[Activity] = []
        for activity, rate in self._rates(self._connected()).items():
            if rate != activity.rate:
                activity.left -= activity.rate * (now - activity.since)
                activity.since, activity.rate = now, rate
                activity.ends = now + max(0.0, activity.left) / rate
                changed.append(activity)
        self.changed.clear()
        return changed

    def _connected(self) -> Iterable[Activity]:
        """All whose rates may have changed: users of the same full resources, directly or through others."""
        found: dict[Activity, None] = {}
        seen = set(self.changed)
        stack = list(self.changed)
        while stack:
            for activity in self.users[stack.pop()]:
                if activity not in found:
                    found[activity] = None
                    fresh = [r for r in activity.resources if r not in seen and self._full(r)]
                    seen.update(fresh)
                    stack += fresh
        return found

    def _rates(self, activities: Iterable[Activity]) -> dict[Activity, float]:
        """All rates rise together; each activity keeps what it has when it reaches its limit, or when something that it
        uses is used up."""
        rising = dict.fromkeys(sorted(activities, key=lambda a: a.limit))
        left: dict[int, float] = {}
        weights: dict[int, float] = {}
        for activity in rising:
            for r in activity.resources:
                if self._full(r):
                    left[r] = self.capacity[r]
                    weights[r] = weights.get(r, 0.0) + activity.weight
        rates: dict[Activity, float] = {}
        while rising:
            level, scarce = min(((left[r] / weight, r) for r, weight in weights.items()), default=(float("inf"), -1))
            lowest = next(iter(rising))
            if lowest.limit <= level:
                stopping = [lowest]
            else:
                stopping = [activity for activity in self.users[scarce] if activity in rising]
            for activity in stopping:
                rates[activity] = rate = min(level, activity.limit)
                del rising[activity]
                for r in activity.resources:
                    if r in weights:
                        left[r] = max(0.0, left[r] - rate * activity.weight)
                        weights[r] -= activity.weight
                        if weights[r] < 1e-9:
                            del weights[r]
        return rates
