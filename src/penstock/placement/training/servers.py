"""Training with parameter servers: synchronous, with backup workers or without, and asynchronous.

A replica gets the parameters of its parts one after the other, computes each part when they are there, and gives the
gradients of each part when that has been computed backward. The servers' network cards divide what they can carry among
the replicas. The servers are taken as one with all their cards, of which as much is used as their `balance` says: the
mean load over the largest. A server's processor takes in gradients in the order in which they come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penstock.placement.training.events import Clock, FairWire, Queue
from penstock.placement.training.noise import Jitter
from penstock.placement.training.replica import ReplicaStep
from penstock.placement.training.result import COMPUTE, GRADIENTS, PARAMETERS, STRAGGLERS, UPDATES, Training
from penstock.placement.training.surroundings import Cluster

WARM = 0.2
"""The share of the steps that are not counted: all replicas have begun at the same time."""


def train(
    step: ReplicaStep,
    cluster: Cluster,
    replicas: int,
    *,
    synchronous: bool = True,
    backup: int = 0,
    jitter: Jitter | None = None,
    steps: int = 30,
    balance: float = 1.0,
) -> Training:
    """`steps` steps (of each replica) of `replicas` workers and `backup` more; as many gradients as workers count."""
    if backup and not synchronous:
        raise ValueError("backup workers need synchronous training: without it nobody waits for the slowest")
    made = (_Synchronous if synchronous else _Asynchronous)(
        step, cluster, replicas, backup, jitter or Jitter(), steps, balance
    )
    return made.run()


def round_robin(step: ReplicaStep, servers: int) -> float:
    """The mean load over the largest if each server in turn gets a variable, as `replica_device_setter` does by
    default: large variables make it uneven."""
    loads = [0.0] * servers
    for index, part in enumerate(step.parts):
        loads[index % servers] += part.pull + part.push
    return sum(loads) / servers / max(loads) if max(loads) else 1.0


@dataclass(slots=True)
class _Cycle:
    """One step of one replica: times."""

    version: int
    start: float
    computed: float = 0.0
    stalled: float = 0.0
    pushed: float = 0.0
    arrived: float = 0.0
    late: bool = False


class _Line:
    """A replica's connection, one way: its transfers follow each other."""

    def __init__(self, wire: FairWire) -> None:
        self._wire = wire
        self._waiting: deque[tuple[float, Callable[[], None]]] = deque()

    def send(self, size: float, done: Callable[[], None]) -> None:
        self._waiting.append((size, done))
        if len(self._waiting) == 1:
            self._begin()

    def _begin(self) -> None:
        self._wire.send(self._waiting[0][0], self._sent)

    def _sent(self) -> None:
        done = self._waiting.popleft()[1]
        if self._waiting:
            self._begin()
        done()


class _Replica:
    """Goes through its step: an offset in its computation at which it needs the parameters of a part, or has the
    gradients of one."""

    def __init__(self, all: _Servers, number: int) -> None:
        self.all, self.number = all, number
        self.down, self.up = _Line(all.down), _Line(all.up)
        self.cycle = _Cycle(0, 0.0)
        self.count = 0

    def begin(self, version: int) -> None:
        all = self.all
        factors = all.factors[:, self.number]
        self.factor = float(factors[self.count % len(factors)])
        self.count += 1
        self.cycle = _Cycle(version, all.clock.now)
        self.position = 0
        self.there = 0
        self.waits_since = -1.0
        self.given = 0
        for part in all.step.parts:
            self.down.send(part.pull, self._pulled)
        self._compute()

    def _pulled(self) -> None:
        self.all.clock.after(self.all.latency, self._has)

    def _has(self) -> None:
        self.there += 1
        if self.waits_since >= 0 and self.there > self.position:
            self.cycle.stalled += self.all.clock.now - self.waits_since
            self.waits_since = -1.0
            self._compute()

    def _compute(self) -> None:
        """The next part: forward while there are some, then backward."""
        parts = self.all.step.parts
        if self.position < len(parts):
            if self.there <= self.position:
                self.waits_since = self.all.clock.now
                return
            self.all.clock.after(parts[self.position].forward * self.factor, self._computed)
        else:
            part = parts[2 * len(parts) - 1 - self.position]
            self.all.clock.after(part.backward * self.factor, self._computed)

    def _computed(self) -> None:
        parts = self.all.step.parts
        self.position += 1
        back = 2 * len(parts) - self.position
        if self.position > len(parts):
            self.up.send(parts[back].push, lambda: self._pushed(parts[back].push))
        if back:
            self._compute()
        else:
            self.cycle.computed = self.all.clock.now

    def _pushed(self, size: float) -> None:
        all = self.all
        self.cycle.pushed = all.clock.now
        all.clock.after(all.latency, lambda: all.processor.put(size, self._taken_in))

    def _taken_in(self) -> None:
        self.given += 1
        if self.given == len(self.all.step.parts):
            self.cycle.arrived = self.all.clock.now
            self.all.arrived(self)


class _Servers:
    """What both kinds of training have in common."""

    mode = ""

    def __init__(
        self,
        step: ReplicaStep,
        cluster: Cluster,
        replicas: int,
        backup: int,
        jitter: Jitter,
        steps: int,
        balance: float,
    ) -> None:
        self.step, self.cluster, self.wanted, self.backup, self.steps = step, cluster, replicas, backup, steps
        count = replicas + backup
        limit, self.latency = cluster.to_servers(count)
        self.servers = servers = max(1.0, cluster.servers * balance)
        rate = min(cluster.server_card * servers, cluster.switch)
        self.clock = Clock()
        self.down, self.up = FairWire(self.clock, rate, limit), FairWire(self.clock, rate, limit)
        self.processor = Queue(self.clock, cluster.server_work * servers)
        self.limited = {"the servers' network cards": rate, "the workers' network cards": limit * count}
        self.update = self._update(servers)
        self.factors = jitter.draw(steps, count)
        self.replicas = [_Replica(self, number) for number in range(count)]
        self.version = 0
        self.first = max(1, int(WARM * steps))
        self.counted: list[_Cycle] = []

    def _update(self, servers: float) -> float:
        """Seconds for applying a sum of gradients: it and the variables are read, and these written."""
        return (self.step.push + self.step.state) / (self.cluster.server_work * servers)

    def arrived(self, replica: _Replica) -> None:
        raise NotImplementedError

    def result(self, seconds: list[float], spent: dict[str, float], per_second: float, staleness: float) -> Training:
        now, step = self.clock.now or 1.0, self.step
        carried = max(self.down.carried, self.up.carried)
        used = {name: min(1.0, carried / (rate * now)) for name, rate in self.limited.items()}
        used["the servers' processors"] = min(1.0, self.processor.served / now)
        memory = {"worker": step.peak - max(0.0, step.state - step.pull), "server": step.state / self.servers}
        return Training(
            self.mode, self.wanted, self.backup, step.devices * len(self.replicas), np.array(seconds), per_second,
            step.alone, spent, used, memory, staleness,
        )  # fmt: skip


class _Synchronous(_Servers):
    mode = "sync"

    def run(self) -> Training:
        self.begun = 0.0
        self.waiting: list[_Replica] = []
        self.in_time: list[_Cycle] = []
        self.seconds: list[float] = []
        self.spent = np.zeros(5)
        self.contributed = 0
        for replica in self.replicas:
            replica.begin(0)
        self.clock.run(lambda: self.version >= self.steps)
        kinds = (COMPUTE, PARAMETERS, GRADIENTS, STRAGGLERS, UPDATES)
        mean = self.spent / max(1, self.contributed)
        mean *= float(np.mean(self.seconds)) / mean.sum()
        spent = dict(zip(kinds, map(float, mean), strict=True))
        per_second = self.step.examples * self.wanted * len(self.seconds) / sum(self.seconds)
        return self.result(self.seconds, spent, per_second, 0.0)

    def arrived(self, replica: _Replica) -> None:
        if replica.cycle.version < self.version:
            replica.begin(self.version)  # too late: what it has computed is dropped
            return
        self.waiting.append(replica)
        self.in_time.append(replica.cycle)
        if len(self.in_time) == self.wanted:
            self.clock.after(self.update, self._updated)

    def _updated(self) -> None:
        now = self.clock.now
        if self.version >= self.first:
            self.seconds.append(now - self.begun)
            enough = now - self.update
            for cycle in self.in_time[: self.wanted]:
                if cycle.start == self.begun:
                    computed = cycle.computed - cycle.start - cycle.stalled
                    self.spent += (
                        computed, cycle.stalled, cycle.arrived - cycle.computed, enough - cycle.arrived, self.update,
                    )  # fmt: skip
                    self.contributed += 1
        self.version += 1
        self.begun = now
        ready, self.waiting, self.in_time = self.waiting, [], []
        for replica in ready:
            replica.begin(self.version)


class _Asynchronous(_Servers):
    mode = "async"

    def run(self) -> Training:
        self.ended = 0
        self.behind = 0
        self.spent = np.zeros(3)
        self.seconds: list[float] = []
        self.from_time = 0.0
        for replica in self.replicas:
            replica.begin(0)
        count = len(self.replicas)
        self.skipped, self.goal = self.first * count, self.steps * count
        self.clock.run(lambda: self.ended >= self.goal)
        mean = self.spent / max(1, len(self.seconds))
        spent = dict(zip((COMPUTE, PARAMETERS, GRADIENTS), map(float, mean), strict=True))
        per_second = self.step.examples * (self.ended - self.skipped) / (self.clock.now - self.from_time)
        return self.result(self.seconds, spent, per_second, self.behind / max(1, len(self.seconds)))

    def _update(self, servers: float) -> float:
        """Each gradient is applied as it comes, which takes about as long as adding it to a sum."""
        return 0.0

    def arrived(self, replica: _Replica) -> None:
        now, cycle = self.clock.now, replica.cycle
        self.ended += 1
        if self.ended == self.skipped:
            self.from_time = now
        if self.ended > self.skipped:
            self.seconds.append(now - cycle.start)
            self.behind += self.version - cycle.version
            computed = cycle.computed - cycle.start - cycle.stalled
            self.spent += (computed, cycle.stalled, now - cycle.computed)
        self.version += 1
        replica.begin(self.version)
