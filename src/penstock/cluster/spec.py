"""`ClusterSpec`: which tasks a cluster has, and where each listens (TF: tf.train.ClusterSpec, ServerDef)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from tensorboard.compat.proto.cluster_pb2 import ClusterDef
from tensorboard.compat.proto.config_pb2 import ConfigProto

from penstock import errors
from penstock.export import export
from penstock.tensor.messages import add_message, new_file

LOOPBACK = "127.0.0.1"


def _server_def() -> Any:
    """The class of ServerDef. Its fields are messages of the pool of TensorBoard's, so it is in that pool as well."""
    file = new_file("penstock/tensorflow_server.proto", "tensorboard")
    file.dependency.extend([ClusterDef.DESCRIPTOR.file.name, ConfigProto.DESCRIPTOR.file.name])
    add_message(
        file,
        "ServerDef",
        "ClusterDef cluster",
        "string job_name",
        "int32 task_index",
        "ConfigProto default_session_config",
        "string protocol",
        "int32 port",
    )
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorboard.ServerDef"))


ServerDef: Any = _server_def()
"""What a `tf.train.Server` is: its cluster, job, index, protocol and configuration (TF: tf.train.ServerDef)."""


def task_name(job: str, index: int) -> str:
    """A task as devices' names begin: `/job:worker/replica:0/task:1`."""
    return f"/job:{job}/replica:0/task:{index}"


def full_name(task: str) -> str:
    """`/job:worker/replica:0/task:1` of "/job:worker/task:1", "worker:1" and "worker/1"."""
    parts = task.strip("/").replace("job:", "").replace("replica:0/", "").replace("task:", "")
    job, _, index = parts.replace(":", "/").partition("/")
    return f"/job:{job}/replica:0/task:{index or 0}"


@export("train.ClusterSpec")
class ClusterSpec:
    """The addresses of a cluster's tasks, by job and index; empty for a process of its own.

    `cluster`: {job: [address, …]}, {job: {index: address, …}} for those of a job that matter to a task, a ClusterDef or
    another ClusterSpec. Raises TypeError for anything else. TF: tf.train.ClusterSpec.
    """

    def __init__(self, cluster: Mapping[str, Any] | ClusterSpec | Any) -> None:
        if isinstance(cluster, ClusterSpec):
            jobs: Any = cluster._jobs.items()
        elif isinstance(cluster, Mapping):
            jobs = cluster.items()
        elif isinstance(cluster, ClusterDef):
            jobs = [(job.name, dict(job.tasks)) for job in cluster.job]
        else:
            raise TypeError(
                "`cluster` must be a dict from names of jobs to addresses, a ClusterDef or a ClusterSpec, not "
                f"{type(cluster).__name__}"
            )
        self._jobs: dict[str, dict[int, str]] = {_text(job, "Job name"): _tasks(job, tasks) for job, tasks in jobs}

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return self._jobs == (other._jobs if isinstance(other, ClusterSpec) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        jobs = self.as_dict()
        return "ClusterSpec({" + ", ".join(f"{job!r}: {jobs[job]!r}" for job in sorted(jobs)) + "})"

    def as_dict(self) -> dict[str, Any]:
        """{job: [address, …]}, or {job: {index: address, …}} where indices are missing."""
        return {
            job: list(tasks.values()) if tasks and list(tasks) == list(range(len(tasks))) else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    def as_cluster_def(self) -> Any:
        """The ClusterDef, with sorted jobs."""
        message = ClusterDef()
        for job in sorted(self._jobs):
            entry = message.job.add(name=job)
            for index, address in self._jobs[job].items():
                entry.tasks[index] = address
        return message

    @property
    def jobs(self) -> list[str]:
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """How many tasks the job has. Raises ValueError if there is no such job."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The indices of the job's tasks, sorted. Raises ValueError if there is no such job."""
        return list(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Raises ValueError if there is no such job or task."""
        try:
            return self._job(job_name)[task_index]
        except KeyError:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}") from None

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses of the job's tasks by index, None for missing indices. Raises ValueError without such a job."""
        tasks = self._job(job_name)
        return [tasks.get(index) for index in range(max(tasks, default=-1) + 1)]

    def _job(self, name: str) -> dict[int, str]:
        try:
            return self._jobs[name]
        except KeyError:
            raise ValueError(f"No such job in cluster: {name!r}") from None

    def addresses(self) -> dict[str, str]:
        """{task name: address}."""
        return {task_name(job, index): at for job, tasks in self._jobs.items() for index, at in tasks.items()}


def _tasks(job: Any, tasks: Any) -> dict[int, str]:
    if isinstance(tasks, (list, tuple)):
        tasks = dict(enumerate(tasks))
    elif not isinstance(tasks, Mapping):
        raise TypeError(f"The tasks for job {job!r} must be a list or a dictionary from integers to strings.")
    return {int(index): _text(tasks[index], "Task address") for index in sorted(tasks, key=int)}


def _text(value: Any, what: str) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise TypeError(f"{what} {value!r} must be bytes or unicode")
    return value


def disagreement(here: Mapping[str, str], there: Mapping[str, str]) -> str | None:
    """What two tasks of one cluster think differently about ({task name: address}), in words; None if they can work
    together. Either may leave out tasks of a job (`{index: address}`), or whole jobs."""
    for task in here.keys() & there.keys():
        if not _same_place(here[task], there[task]):
            return f"{task} is at {here[task]} in one and at {there[task]} in the other"
    mine, theirs = _indices(here), _indices(there)
    for job in mine.keys() & theirs.keys():
        if mine[job] != theirs[job] and _is_dense(mine[job]) and _is_dense(theirs[job]):
            return f"job {job!r} has {len(mine[job])} tasks in one and {len(theirs[job])} in the other"
    return None


def _indices(addresses: Iterable[str]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for name in addresses:
        _, job, _, task = name.split("/")
        found.setdefault(job.removeprefix("job:"), set()).add(int(task.removeprefix("task:")))
    return found


def _is_dense(indices: set[int]) -> bool:
    return max(indices) + 1 == len(indices)


def _same_place(one: str, other: str) -> bool:
    """Hosts have several names, and a task may write its own as 0.0.0.0; a port of 0 is chosen by the task itself."""
    (_, port), (_, other_port) = host_and_port(one), host_and_port(other)
    return port == other_port or 0 in (port, other_port)


def host_and_port(address: str) -> tuple[str, int]:
    """The parts of "host:port", "grpc://host:port" and "[::1]:port". Raises InvalidArgumentError for anything else."""
    host, colon, port = address.removeprefix("grpc://").rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise errors.InvalidArgumentError(None, None, f"An address is written host:port, not {address!r}.")
    return host, int(port)
