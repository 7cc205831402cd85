"""The simulator (white paper section 3.2.1): predicts how a placed step would run, without running it.

Each device runs one node at a time, in the order in which they become ready; a tensor is sent once to each device that
uses it, as soon as it is computed. A link carries one tensor at a time.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.checkpoint.replace import write_whole
from penstock.export import export
from penstock.placement.problem import Problem


@dataclass(frozen=True, slots=True)
class Run:
    """A node's execution: seconds from the start of the step."""

    node: int
    device: int
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Transfer:
    """The transfer of a value of `node`."""

    node: int
    value: int
    source: int
    target: int
    start: float
    end: float


@export("placement.Timeline")
@dataclass(slots=True)
class Timeline:
    """A simulated step. peak[d]: the peak bytes on device d, including variables."""

    problem: Problem
    runs: list[Run]
    transfers: list[Transfer]
    peak: list[float]
    seconds: float

    @property
    def fits(self) -> bool:
        """Whether every device's memory suffices."""
        return all(
            not device.memory or peak <= device.memory
            for device, peak in zip(self.problem.hardware.devices, self.peak, strict=True)
        )

    @property
    def excess(self) -> float:
        """By how many bytes memory limits are exceeded, over all devices."""
        pairs = zip(self.problem.hardware.devices, self.peak, strict=True)
        return sum(max(0.0, peak - device.memory) for device, peak in pairs if device.memory)

    def busy(self) -> list[float]:
        """The seconds that each device works."""
        found = [0.0] * len(self.peak)
        for run in self.runs:
            found[run.device] += run.end - run.start
        return found

    def critical_path(self) -> list[str]:
        """The nodes, first to last, each of which waited for the one before: they determine the step's time."""
        problem, runs = self.problem, {run.node: run for run in self.runs}
        arrivals = {(t.value, t.target): t.end for t in self.transfers}
        before: dict[int, Run] = {}
        last: dict[int, Run] = {}
        for run in self.runs:
            if run.device in last:
                before[run.node] = last[run.device]
            last[run.device] = run
        now = max(self.runs, key=lambda run: run.end, default=None)
        path: list[str] = []
        while now is not None:
            path.append(problem.nodes[now.node].name)
            waits: list[tuple[float, Run]] = [(before[now.node].end, before[now.node])] if now.node in before else []
            for producer, value in problem.inputs[now.node]:
                if producer in runs:
                    waits.append((arrivals.get((value, now.device), runs[producer].end), runs[producer]))
            waits += [(runs[c].end, runs[c]) for c in problem.controls[now.node] if c in runs]
            now = max(waits, key=lambda wait: wait[0])[1] if waits else None
        return path[::-1]

    def text(self, width: int = 72) -> str:
        """A picture in characters: one line per device, `#` while it is busy, and its numbers."""
        lines = [f"{self.seconds * 1e3:.3f} ms, {len(self.transfers)} transfers"]
        scale = width / self.seconds if self.seconds else 0.0
        devices = zip(self.problem.hardware.devices, self.busy(), self.peak, strict=True)
        for d, (device, busy, peak) in enumerate(devices):
            row = [" "] * width
            for run in self.runs:
                if run.device == d and run.end > run.start:
                    for x in range(int(run.start * scale), min(width, int(run.end * scale) + 1)):
                        row[x] = "#"
            share = 100 * busy / self.seconds if self.seconds else 0.0
            short = device.name.rsplit("/device:", 1)[-1]
            lines.append(f"{short:>8} |{''.join(row)}| {share:3.0f}% busy, {peak / 1e6:.2f} MB at most")
        path = self.critical_path()
        shown = path if len(path) <= 12 else [*path[:6], "…", *path[-6:]]
        return "\n".join([*lines, f"critical path, {len(path)} nodes: {' > '.join(shown)}"])

    def chrome_trace(self) -> dict[str, Any]:
        """For chrome://tracing and Perfetto: one process per device, with its runs and the transfers to it."""
        events: list[dict[str, Any]] = []
        for d, device in enumerate(self.problem.hardware.devices):
            events.append({"ph": "M", "name": "process_name", "pid": d, "args": {"name": device.name}})
        for run in self.runs:
            node = self.problem.nodes[run.node]
            events.append(
                {
                    "ph": "X", "pid": run.device, "tid": 0, "name": node.name, "cat": node.op.name,
                    "ts": run.start * 1e6, "dur": (run.end - run.start) * 1e6,
                }
            )  # fmt: skip
        for t in self.transfers:
            events.append(
                {
                    "ph": "X", "pid": t.target, "tid": 1, "name": f"receive {self.problem.nodes[t.node].name}",
                    "cat": "transfer", "ts": t.start * 1e6, "dur": (t.end - t.start) * 1e6,
                    "args": {"from": self.problem.hardware.devices[t.source].name,
                             "bytes": self.problem.value_bytes[t.value]},
                }
            )  # fmt: skip
        return {"traceEvents": events}

    def save_chrome_trace(self, path: Any) -> None:
        """Write `chrome_trace()` to a file."""
        write_whole(path, json.dumps(self.chrome_trace()).encode())


After = dict[tuple[int, int], int]
"""For a value and a device, the node on that device after whose end the value is sent."""


@export("placement.simulate")
def simulate(problem: Problem, placement: Sequence[int], after: After | None = None) -> Timeline:
    """Simulates the step with node i on device `placement[i]`. `after`: which transfers wait for what (see
    `recv_timing.py`)."""
    return _Simulation(problem, placement, after or {}).run()


class _Simulation:
    def __init__(self, problem: Problem, placement: Sequence[int], after: After) -> None:
        self.p, self.place, self.after = problem, placement, after
        self.held: dict[int, list[int]] = {}
        """For a node that transfers wait for, the consumers of the transferred values."""
        count = len(problem.hardware.devices)
        self.free = [0.0] * count
        self.link_free: dict[tuple[int, int], float] = {}
        self.end = [0.0] * len(problem.inputs)
        self.arrival: dict[tuple[int, int], float] = {}
        self.runs: list[Run] = []
        self.transfers: list[Transfer] = []
        self.memory: list[list[tuple[float, int, float]]] = [[] for _ in range(count)]

    def run(self) -> Timeline:
        """Each device takes the node that became ready first, then in the graph's order."""
        p = self.p
        waiting = [len({j for j, _ in p.inputs[i]} | set(p.controls[i])) for i in range(len(p.inputs))]
        for k, inputs in enumerate(p.inputs) if self.after else ():
            gates = {self.after[v, self.place[k]] for _, v in inputs if (v, self.place[k]) in self.after}
            waiting[k] += len(gates)
            for gate in gates:
                self.held.setdefault(gate, []).append(k)
        # Nodes that take no time finish at once; each device has a queue of the others.
        passing: list[tuple[float, int]] = []
        queues: list[list[tuple[float, int]]] = [[] for _ in self.free]

        def ready(i: int, when: float) -> None:
            heapq.heappush(queues[self.place[i]] if p.seconds[self.place[i]][i] else passing, (when, i))

        for i, count in enumerate(waiting):
            if not count:
                ready(i, 0.0)
        while passing or any(queues):
            if passing:
                start, i = heapq.heappop(passing)
            else:
                start, device = min((max(self.free[d], q[0][0]), d) for d, q in enumerate(queues) if q)
                i = heapq.heappop(queues[device])[1]
            self._execute(i, self.place[i], start)
            for k in (*p.consumers[i], *self.held.get(i, ())):
                waiting[k] -= 1
                if not waiting[k]:
                    ready(k, self._ready_at(k))
        seconds = max(self.end, default=0.0)
        return Timeline(p, self.runs, self.transfers, self._peaks(seconds), seconds)

    def _execute(self, i: int, device: int, start: float) -> None:
        p = self.p
        cost = p.seconds[device][i]
        self.end[i] = end = start + cost
        if cost:
            self.free[device] = end
            self.runs.append(Run(i, device, start, end))
        if p.everywhere[i]:
            return
        for value, targets in self._targets(i).items():
            for target in targets:
                if target != device and (value, target) not in self.arrival and (value, target) not in self.after:
                    self._transfer(i, value, target, end)

    def _transfer(self, i: int, value: int, target: int, when: float) -> float:
        """Send a value of node i after `when`, as soon as the link is free; returns the arrival time."""
        p, device = self.p, self.place[i]
        begin = max(when, self.link_free.get((device, target), 0.0))
        size = p.value_bytes[value] if value >= 0 else 0.0
        arrives = begin + p.latency[device][target] + size / p.rate[device][target]
        self.link_free[device, target] = arrives - p.latency[device][target]
        self.arrival[value, target] = arrives
        self.transfers.append(Transfer(i, value, device, target, begin, arrives))
        return arrives

    def _targets(self, i: int) -> dict[int, list[int]]:
        """For each value of node i, the devices that use it; -1 - i stands for the fact that it has run."""
        p, place = self.p, self.place
        found: dict[int, list[int]] = {}
        for k in p.consumers[i]:
            for producer, value in p.inputs[k]:
                if producer == i:
                    found.setdefault(value, []).append(place[k])
            if i in p.controls[k]:
                found.setdefault(-1 - i, []).append(place[k])
        return found

    def _ready_at(self, k: int) -> float:
        p, device = self.p, self.place[k]
        when = 0.0
        for producer, value in p.inputs[k]:
            here = p.everywhere[producer] or self.place[producer] == device
            if not here and (value, device) not in self.arrival:  # it waited for a node of this device
                self._transfer(producer, value, device, max(self.end[producer], self.end[self.after[value, device]]))
            when = max(when, self.end[producer] if here else self.arrival[value, device])
        for control in p.controls[k]:
            here = p.everywhere[control] or self.place[control] == device
            when = max(when, self.end[control] if here else self.arrival[-1 - control, device])
        return when

    def _peaks(self, seconds: float) -> list[float]:
        """The peak memory of each device: variables always, a value from its start to its last use there.

        Values are allocated according to `peak_memory.Owners` and sent as soon as they are computed. What is computed
        in place is not known before the plan, so this overestimates.
        """
        p, place = self.p, self.place
        events: list[list[tuple[float, int, float]]] = [[] for _ in self.free]
        started = {run.node: run.start for run in self.runs}
        for i, size in enumerate(p.output_bytes):
            if size and not p.everywhere[i]:
                used = max((self.end[k] for k in p.viewers[i] if place[k] == place[i]), default=self.end[i])
                sent = max((t for t in (self.arrival.get((v, d)) for v, ds in self._targets(i).items() for d in ds)
                            if t is not None), default=0.0)  # fmt: skip
                last = seconds if i in p.fetched else max(used, sent)
                events[place[i]] += [(started.get(i, self.end[i]), 1, size), (last, 0, -size)]
        for t in self.transfers:
            size = p.value_bytes[t.value] if t.value >= 0 else 0.0
            last = (
                max(
                    self.end[k]
                    for k in p.consumers[t.node]
                    if place[k] == t.target and (t.node, t.value) in p.inputs[k]
                )
                if t.value >= 0
                else t.end
            )
            events[t.target] += [(t.start, 1, size), (last, 0, -size)]
        peaks = []
        for device, changes in enumerate(events):
            now = peak = sum(s for i, s in enumerate(p.state_bytes) if s and place[i] == device)
            for _, _, change in sorted(changes):
                now += change
                peak = max(peak, now)
            peaks.append(peak)
        return peaks
