"""Which task of a cluster a process is, as the environment variable TF_CONFIG says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.cluster.spec import ClusterSpec


class TaskType:
    MASTER = "master"
    PS = "ps"
    WORKER = "worker"
    CHIEF = "chief"
    EVALUATOR = "evaluator"


@dataclass(frozen=True)
class Task:
    """A process's place in its cluster."""

    cluster: ClusterSpec
    kind: str = TaskType.WORKER
    index: int = 0
    master: str = ""
    evaluation_master: str = ""
    is_chief: bool = True
    num_ps: int = 0
    num_workers: int = 1
    global_id: int | None = 0


def task_from(environment: Mapping[str, Any], workers_are_equal: bool = False) -> Task:
    """The task that TF_CONFIG, parsed, describes. Raises ValueError if it contradicts itself.

    workers_are_equal: without a chief, the first worker is it.
    """
    cluster = ClusterSpec(environment.get("cluster") or {})
    task = environment.get("task") or {}
    kind, index = task.get("type"), task.get("index")
    if not cluster:
        return _local_task(kind, index, environment)
    chief = TaskType.WORKER if workers_are_equal and _only_workers(cluster) else _chief_of(cluster)
    if not kind:
        raise ValueError('If "cluster" is set in TF_CONFIG, task type must be set.')
    if index is None:
        raise ValueError('If "cluster" is set in TF_CONFIG, task index must be set.')
    index = int(index)
    if index < 0:
        raise ValueError("Task index must be non-negative number.")
    if kind == TaskType.EVALUATOR:
        if chief == TaskType.MASTER:
            raise ValueError("If `master` node exists in `cluster`, task_type `evaluator` is not supported.")
        return Task(ClusterSpec({}), kind, index, is_chief=False, num_workers=0, global_id=None)
    if kind not in cluster.jobs:
        raise ValueError(f"{kind} is not a valid task_type in the cluster_spec: {cluster}")
    if index >= cluster.num_tasks(kind):
        raise ValueError(f"{index} is not a valid task_id for task_type {kind} in the cluster_spec: {cluster}")
    order = [job for job in dict.fromkeys((chief, TaskType.WORKER, TaskType.PS)) if job in cluster.jobs]
    before = order[: order.index(kind)] if kind in order else order
    address = cluster.task_address(kind, index)
    return Task(
        cluster,
        kind,
        index,
        master=environment.get("session_master", "" if len(cluster.addresses()) == 1 else f"grpc://{address}"),
        is_chief=kind == chief and (index == 0 or chief != TaskType.WORKER),
        num_ps=_count(cluster, TaskType.PS),
        num_workers=_count(cluster, TaskType.WORKER) + (chief != TaskType.WORKER),
        global_id=sum(map(cluster.num_tasks, before)) + index,
    )


def _count(cluster: ClusterSpec, job: str) -> int:
    return cluster.num_tasks(job) if job in cluster.jobs else 0


def _only_workers(cluster: ClusterSpec) -> bool:
    return not {TaskType.CHIEF, TaskType.MASTER} & set(cluster.jobs)


def _chief_of(cluster: ClusterSpec) -> str:
    """The name of the job that trains and saves. Raises ValueError unless it has exactly one task."""
    if TaskType.EVALUATOR in cluster.jobs:
        raise ValueError("Evaluator must not be a job of the cluster in TF_CONFIG: it only reads checkpoints.")
    if {TaskType.MASTER, TaskType.CHIEF} <= set(cluster.jobs):
        raise ValueError("If `master` node exists in `cluster`, job `chief` is not supported.")
    chief = TaskType.MASTER if TaskType.MASTER in cluster.jobs else TaskType.CHIEF
    if _count(cluster, chief) == 0:
        raise ValueError('If "cluster" is set in TF_CONFIG, it must have one "chief" node.')
    if _count(cluster, chief) > 1:
        raise ValueError(f'The "cluster" in TF_CONFIG must have only one "{chief}" node.')
    return chief


def _local_task(kind: str | None, index: Any, environment: Mapping[str, Any]) -> Task:
    if kind == TaskType.EVALUATOR:
        return Task(ClusterSpec({}), kind, int(index or 0), is_chief=False, num_workers=0, global_id=None)
    if kind not in (None, TaskType.WORKER):
        raise ValueError('If "cluster" is not set in TF_CONFIG, task type must be WORKER.')
    if int(index or 0):
        raise ValueError('If "cluster" is not set in TF_CONFIG, task index must be 0.')
    masters = environment.get("session_master", ""), environment.get("eval_session_master", "")
    return Task(ClusterSpec({}), master=masters[0], evaluation_master=masters[1])
