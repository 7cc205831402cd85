"""Simulated time, and what is used in turn or together: in O(log n) for each event, whatever n replicas share."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable

Event = Callable[[], None]


class Clock:
    """Events happen in the order of their times, those of one time in the order in which they were planned."""

    def __init__(self) -> None:
        self.now = 0.0
        self._planned: list[tuple[float, int, Event]] = []
        self._count = 0

    def after(self, seconds: float, event: Event) -> None:
        self._count += 1
        heapq.heappush(self._planned, (self.now + seconds, self._count, event))

    def run(self, done: Callable[[], bool]) -> None:
        """Until `done` or nothing is left to happen."""
        while self._planned and not done():
            self.now, _, event = heapq.heappop(self._planned)
            event()


class FairWire:
    """Divides `rate` equally among the transfers that are under way, of which each gets at most `limit`.

    As all get the same, one number says what each has got so far: a transfer of n bytes ends when that has grown by n.
    """

    def __init__(self, clock: Clock, rate: float, limit: float) -> None:
        self._clock, self._rate, self._limit = clock, rate, limit
        self._got = self._since = 0.0
        self._ends: list[tuple[float, int, Event]] = []
        self._count = self._plan = 0
        self.carried = 0.0
        """Bytes, of all transfers that have ended."""

    def send(self, size: float, done: Event) -> None:
        self._proceed()
        self._count += 1
        heapq.heappush(self._ends, (self._got + size, self._count, done))
        self.carried += size
        self._plan_next()

    def _proceed(self) -> None:
        now = self._clock.now
        if self._ends and now > self._since:
            self._got += (now - self._since) * self._each()
        self._since = now

    def _each(self) -> float:
        return min(self._limit, self._rate / len(self._ends))

    def _plan_next(self) -> None:
        self._plan += 1
        if self._ends:
            plan, each = self._plan, self._each()
            left = max(0.0, self._ends[0][0] - self._got)
            self._clock.after(left / each if each < float("inf") else 0.0, lambda: self._ended(plan))

    def _ended(self, plan: int) -> None:
        if plan != self._plan:
            return  # the rates have changed since
        self._proceed()
        goal = self._ends[0][0]
        self._got = max(self._got, goal)
        done = []
        while self._ends and self._ends[0][0] <= goal:
            done.append(heapq.heappop(self._ends)[2])
        self._plan_next()
        for event in done:
            event()


class Queue:
    """Serves one after the other, at `rate`."""

    def __init__(self, clock: Clock, rate: float) -> None:
        self._clock, self._rate = clock, rate
        self._waiting: deque[tuple[float, Event]] = deque()
        self._busy = False
        self.served = 0.0
        """What all took that have been served, in seconds."""

    def put(self, size: float, done: Event) -> None:
        self._waiting.append((size, done))
        if not self._busy:
            self._serve()

    def _serve(self) -> None:
        size, done = self._waiting.popleft()
        self._busy = True
        seconds = size / self._rate
        self.served += seconds

        def end() -> None:
            self._busy = False
            if self._waiting:
                self._serve()
            done()

        self._clock.after(seconds, end)
