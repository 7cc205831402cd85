"""What an Estimator does in a task of a cluster, which TF_CONFIG describes: between-graph replication.

Each worker builds the same graph and runs its own steps; variables are on the parameter servers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorboard.compat.proto.config_pb2 import ConfigProto

from penstock import logging
from penstock.estimator.cluster import TaskType
from penstock.estimator.run_config import RunConfig
from penstock.train.device_setter import replica_device_setter

if TYPE_CHECKING:
    from penstock.cluster.server import Server

_DELAY_S, _MOST_DELAY_S = 5.0, 60.0
_TABLES = (
    *("HashTable", "HashTableV2", "MutableHashTable", "MutableHashTableV2"),
    *("MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableDenseHashTable", "MutableDenseHashTableV2"),
)
_PS_OPS = ("Variable", "VariableV2", "AutoReloadVariable", "VarHandleOp", *_TABLES)


def device_function(config: RunConfig) -> Callable[[Any], str] | None:
    """The one that was given; otherwise variables go to the parameter servers, if there are any."""
    if config.device_fn is not None or config.num_ps_replicas == 0:
        return config.device_fn
    worker = f"/job:{config.task_type}/task:{config.task_id}" if config.task_type else "/job:worker"
    return replica_device_setter(
        ps_tasks=config.num_ps_replicas, worker_device=worker, ps_ops=_PS_OPS, cluster=config.cluster_spec
    )


def session_config(config: RunConfig) -> Any:
    """Of a RunConfig without one: soft placement; a worker knows only itself and the parameter servers, so that it does
    not wait for other workers."""
    chosen = ConfigProto(allow_soft_placement=True)
    if config.task_type in (TaskType.MASTER, TaskType.CHIEF) and config.cluster_spec:
        chosen.device_filters.extend(["/job:ps", f"/job:{config.task_type}"])
    elif config.task_type == TaskType.WORKER and config.cluster_spec:
        chosen.device_filters.extend(["/job:ps", f"/job:{config.task_type}/task:{config.task_id}"])
    elif config.task_type == TaskType.PS:
        chosen.device_filters.extend(
            ["/job:ps", f"/job:{TaskType.WORKER}", f"/job:{TaskType.CHIEF}", f"/job:{TaskType.MASTER}"]
        )
    return chosen


def start_server(config: RunConfig) -> Server:
    """The Server of the task that this process is."""
    from penstock.cluster.server import Server  # with all that it takes to run steps

    logging.info("Start Tensorflow server.")
    return Server(
        config.cluster_spec,
        job_name=config.task_type,
        task_index=config.task_id,
        config=config.session_config,
        protocol=config.protocol,
    )


def is_alone(config: RunConfig) -> bool:
    """Whether the cluster has no other task than its chief, which then needs no Server."""
    spec = config.cluster_spec
    return not spec or (len(spec.jobs) == 1 and config.task_type in (TaskType.CHIEF, TaskType.MASTER))


def wait_for_turn(config: RunConfig) -> None:
    """Workers begin one after the other, which helps the first steps to converge, unless all make them together."""
    strategy = config.train_distribute
    if strategy is not None and strategy.between_graph:
        return
    most = config.experimental_max_worker_delay_secs
    delay = min(_MOST_DELAY_S if most is None else most, (config.task_id + 1) * _DELAY_S)
    if config.task_type == TaskType.WORKER and delay > 0:
        logging.info("Waiting %d secs before starting training.", delay)
        time.sleep(delay)
