"""A Ray of several nodes on this machine."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.cluster.launch.cluster import Task
from penstock.cluster.launch.ray.folders import _end_processes

QUICK = {
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_health_check_initial_delay_ms": "0",
    "RAY_health_check_period_ms": "300",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
}


class Nodes:
    """A Ray whose nodes have room for one task each. All are of this machine."""

    def __init__(self, count: int = 3) -> None:
        from ray.cluster_utils import Cluster as RayCluster

        self._options: Any = {"include_dashboard": False, "object_store_memory": 80 << 20}
        self._ray = RayCluster(initialize_head=True, head_node_args={**self._options, "num_cpus": 0})
        self.address = self._ray.address
        for _ in range(count):
            self.add()

    def replace_lost(self) -> None:
        """Add a node for each whose raylet has ended."""
        lost = [node for node in self._ray.worker_nodes if self._ended(node)]
        for node in lost:
            node.kill_all_processes(check_alive=False, allow_graceful=False)
            self._ray.worker_nodes.remove(node)
            self.add()

    def _ended(self, node: Any) -> bool:
        return node.all_processes["raylet"][0].process.poll() is not None

    def add(self) -> None:
        self._ray.add_node(**self._options, num_cpus=1)

    def kill_raylet_of(self, task: Task) -> None:
        """As a machine that is cut off from Ray: what runs there does not know yet (nor later: nobody reaps it)."""
        os.kill(self.raylet_of(task), signal.SIGKILL)

    def raylet_of(self, task: Task) -> int:
        raylet = _parent(task.pid)
        assert raylet in [self._pid(node, "raylet") for node in self._ray.worker_nodes]
        return raylet

    def kill_head(self) -> None:
        os.kill(self._pid(self._ray.head_node, "gcs_server"), signal.SIGKILL)

    def close(self) -> None:
        for node in [*self._ray.worker_nodes, self._ray.head_node]:
            with contextlib.suppress(Exception):
                node.kill_all_processes(check_alive=False, allow_graceful=False)
        _end_processes(Path(self._ray.head_node.get_session_dir_path()))  # Ray's agents outlive their node

    def _pid(self, node: Any, kind: str) -> int:
        return int(node.all_processes[kind][0].process.pid)


@contextlib.contextmanager
def several_nodes(count: int) -> Iterator[Nodes]:
    """In an environment where Ray notices quickly that nodes are gone."""
    before = {name: os.environ.get(name) for name in QUICK}
    os.environ.update(QUICK)
    try:
        nodes = Nodes(count)
        try:
            yield nodes
        finally:
            nodes.close()
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
