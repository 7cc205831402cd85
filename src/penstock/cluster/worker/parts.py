"""A task's parts of a step: planned and compiled as in a local session."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from penstock.cluster.ship import ShippedPart, unpack
from penstock.cluster.worker.meeting import Meeting, Routes
from penstock.devices.device import Device
from penstock.engine.border import TASK
from penstock.engine.partitioned import PartitionedPlan
from penstock.engine.pipeline import prepare_part
from penstock.graph.step_graph import StepGraph
from penstock.graph.transfer_ops import FOR_CLIENT, LATE, RECVS, SENDS
from penstock.partition.partition import Partition
from penstock.runtime.denormals import flushing
from penstock.runtime.kernels import SessionState
from penstock.runtime.observer import Observer


class TaskParts:
    """The parts of one kind of step in one task, ready to run."""

    def __init__(
        self,
        shipped: Sequence[ShippedPart],
        state: SessionState,
        devices: Mapping[str, Device],
        passes: Collection[str],
        flushes: bool,
        constants: Mapping[bytes, Any],
        slow: bool = False,
    ) -> None:
        """constants: the session's large ones. slow: steps wait for the client.

        Raises a typed error, naming the node, for what cannot run here.
        """
        parts = []
        self.routes = Routes()
        self.partners: set[str] = set()
        """The tasks that values go to or come from."""
        for each in shipped:
            part = unpack(each, {**constants, **{digest: value for digest, (value, _) in each.constants.items()}})
            self._note_transfers(part, devices)
            graph = prepare_part(part.graph, passes)
            parts.append(Partition(part.device, graph, part.feeds, part.fetches))
        nodes = [node for part in parts for node in part.graph.nodes]
        count = sum(len(part.fetches) for part in parts)
        fetches = {place: edge for part in parts for place, edge in zip(part.fetches, part.graph.fetches, strict=True)}
        whole = StepGraph(nodes, [], [fetches[place] for place in range(count)])
        self.plan = PartitionedPlan(whole, parts, state, dict(devices), border=TASK, alone=False, slow=slow)
        self._run = flushing(self.plan.run_step) if flushes else self.plan.run_step

    def _note_transfers(self, part: Partition, devices: Mapping[str, Device]) -> None:
        for node in part.graph.nodes:
            if FOR_CLIENT in node.attrs:
                self.routes.taken.add(node.attrs["key"])
            elif node.op.name in SENDS and node.attrs["target"] not in devices:
                key, task = node.attrs["key"], task_of(node.attrs["target"])
                self.partners.add(task)
                self.routes.targets[key] = task
                if LATE in node.attrs:
                    self.routes.held.add(key)
            elif node.op.name in RECVS and node.attrs["origin"] not in devices:
                task = task_of(node.attrs["origin"])
                self.partners.add(task)
                if LATE in node.attrs:
                    self.routes.asked[node.attrs["key"]] = task

    def run(self, values: Sequence[Any], meeting: Meeting, observer: Observer | None) -> tuple[Any, ...]:
        found = self._run(values, meeting, observer)
        if self.routes.held or self.routes.taken:
            meeting.wait_until_asked()
        return found


def task_of(device: str) -> str:
    """The task part of a full device name: "/job:worker/replica:0/task:1"."""
    return device.partition("/device:")[0]
