"""When to receive (white paper section 5.2): as late as possible without delay, so that received tensors do not occupy
memory.

Otherwise every Recv starts at once, and everything that a device receives is in its memory from the beginning. Using
the simulated run, each transfer waits for a node of the receiving device that ends just early enough for the tensor to
arrive when its first consumer could start.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.graph.rewrite import with_waits
from penstock.graph.step_graph import Node
from penstock.graph.transfer_ops import LATE
from penstock.partition.circles import check_for_circles
from penstock.partition.partition import Partition
from penstock.placement.problem import Problem
from penstock.placement.simulator import After, simulate
from penstock.placement.timeline import Timeline


@dataclass(slots=True)
class RecvTiming:
    """What to wait for, and the simulated step without and with waiting."""

    after: After
    before_timeline: Timeline
    timeline: Timeline

    def text(self) -> str:
        """The predicted peaks and times, before and after."""
        lines = []
        devices = self.timeline.problem.hardware.devices
        peaks = zip(devices, self.before_timeline.peak, self.timeline.peak, strict=True)
        for device, old, new in peaks:
            lines.append(f"{device.name}: peak {old / 1e6:.2f} MB, with timed Recvs {new / 1e6:.2f} MB")
        old, new = self.before_timeline.seconds, self.timeline.seconds
        return "\n".join([*lines, f"step {old * 1e3:.3f} ms, with timed Recvs {new * 1e3:.3f} ms"])


def time_recvs(problem: Problem, placement: Sequence[int], least: int = 0) -> RecvTiming:
    """For each tensor of at least so many bytes that is sent to a device, the node there to wait for; no entry if it is
    needed at once."""
    plain = simulate(problem, placement)
    runs: dict[int, list[tuple[float, int]]] = {}
    starts: dict[int, float] = {}
    for run in plain.runs:
        runs.setdefault(run.device, []).append((run.end, run.node))
        starts[run.node] = run.start
    after: After = {}
    for transfer in plain.transfers:
        if transfer.value < 0 or problem.value_bytes[transfer.value] < least:
            continue
        target = transfer.target
        users = [
            k
            for k in problem.consumers[transfer.node]
            if placement[k] == target and (transfer.node, transfer.value) in problem.inputs[k]
        ]
        first = min((starts[k] for k in users if k in starts), default=None)
        if first is None or target not in runs:
            continue
        # Allow one more transfer's time, because the prediction is not exact.
        latest = first - 2 * (transfer.end - transfer.start)
        place = bisect.bisect_left(runs[target], (latest, -1)) - 1
        if place >= 0 and runs[target][place][1] not in users:
            after[transfer.value, target] = runs[target][place][1]
    return RecvTiming(after, plain, simulate(problem, placement, after))


def delay_recvs(parts: list[Partition], problem: Problem, timing: RecvTiming) -> list[Partition]:
    """The partitions with control edges that delay their Recvs. Both ends of such a transfer get the attribute LATE."""
    by_key: dict[str, str] = {}
    for (value, target), waits_for in timing.after.items():
        by_key[f"{problem.values[value].name} to {problem.hardware.names[target]}"] = problem.nodes[waits_for].name
    found: list[Partition] = []
    late: set[str] = set()
    for part in parts:
        named = {node.name: node for node in part.graph.nodes}
        recvs = [node for node in part.graph.nodes if node.op.name == "_Recv"]
        gates = {node: named.get(by_key.get(node.attrs["key"], "")) for node in recvs}
        waits = {node: (gate,) for node, gate in gates.items() if gate is not None}
        late |= {node.attrs["key"] for node in waits}
        found.append(replace(part, graph=with_waits(part.graph, waits)))
    for part in found:
        for node in part.graph.nodes:
            if node.attrs.get("key") in late:
                node.attrs[LATE] = True
    check_for_circles(found)
    return [replace(part, graph=replace(part.graph, nodes=_in_order(part.graph.nodes))) for part in found]


def _in_order(nodes: list[Node]) -> list[Node]:
    """The same nodes, each after what it needs, otherwise in the same order."""
    done: set[Node] = set()
    inside = set(nodes)
    found: list[Node] = []
    for node in nodes:
        stack = [node]
        while stack:
            top = stack[-1]
            missing = [n for n in (*(e.node for e in top.inputs), *top.controls) if n in inside and n not in done]
            if missing:
                stack += missing
            else:
                stack.pop()
                if top not in done:
                    done.add(top)
                    found.append(top)
    return found
