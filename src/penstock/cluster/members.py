"""What a task knows of its cluster: who the others are, and where they listen at the moment."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from penstock import errors
from penstock.cluster.spec import ClusterSpec, task_name


class Members:
    """The tasks of a cluster, as `task` ("/job:worker/replica:0/task:0") sees them; "" for a client's view.

    Addresses change: a port of 0 becomes a real one, and a replaced task may listen elsewhere.
    """

    def __init__(self, spec: ClusterSpec, task: str = "") -> None:
        self.task = task
        self._lock = threading.Lock()
        self._spec = spec
        self._addresses = spec.addresses()

    @property
    def spec(self) -> ClusterSpec:
        """With the present addresses."""
        return self._spec

    @property
    def tasks(self) -> list[str]:
        return list(self._addresses)

    def address(self, task: str) -> str:
        """Raises NotFoundError for a task that the cluster does not have."""
        try:
            return self._addresses[task]
        except KeyError:
            known = ", ".join(self._addresses) or "none"
            raise errors.NotFoundError(None, None, f"{task} is not a task of this cluster. It has {known}.") from None

    def update(self, addresses: Mapping[str, str]) -> None:
        """Tasks have moved. Those that the cluster does not have are ignored."""
        with self._lock:
            moved = {task: address for task, address in addresses.items() if task in self._addresses}
            self._addresses = {**self._addresses, **moved}
            jobs = {
                job: {index: self._addresses[task_name(job, index)] for index in self._spec.task_indices(job)}
                for job in self._spec.jobs
            }
            self._spec = ClusterSpec(jobs)
