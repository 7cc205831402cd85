"""Devices of replicas: variables on parameter servers, everything else on workers (TF: tf.train.replica_device_setter).

Also strategies that choose a variable's parameter server.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from typing import Any

from penstock import logging
from penstock.cluster.spec import ClusterSpec
from penstock.export import export
from penstock.graph.device_spec import DeviceSpec
from penstock.graph.operation import Operation

PsStrategy = Callable[[Operation], int]

STANDARD_PS_OPS = (
    *("Variable", "VariableV2", "AutoReloadVariable", "VarHandleOp"),
    *("MutableHashTable", "MutableHashTableV2", "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2"),
    *("MutableDenseHashTable", "MutableDenseHashTableV2", "ResourceConditionalAccumulator"),
    *("BoostedTreesEnsembleResourceHandleOp", "BoostedTreesQuantileStreamResourceHandleOp", "DecisionTreeResource"),
)
"""The ops whose state is on parameter servers. Accumulators by reference are not: optimizers place them themselves."""


@export("train.replica_device_setter")
def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Collection[str] | None = None,
    ps_strategy: PsStrategy | None = None,
) -> Callable[[Operation], str] | None:
    """A device function, for `with tf.device(...)`: nodes of `ps_ops` go to `ps_device`, others to `worker_device`.

    The tasks of the parameter servers, `ps_tasks` or as many as `cluster` (a ClusterSpec, or what makes one) has, take
    turns; or `ps_strategy` says which is next. Without any, there is no device function: returns None. Devices of inner
    blocks take precedence part by part, or as a whole unless `merge_devices`. Raises TypeError for a strategy that is
    not a function.
    """
    if cluster is not None:
        job = DeviceSpec.from_string(ps_device).job
        ps_tasks = len(ClusterSpec(cluster).as_dict().get(job or "", ()))
    if ps_tasks == 0:
        return None
    if not merge_devices:
        logging.warning("DEPRECATION: It is recommended to set merge_devices=true in replica_device_setter")
    strategy = _RoundRobinStrategy(ps_tasks) if ps_strategy is None else ps_strategy
    if not callable(strategy):
        raise TypeError("ps_strategy must be callable")
    ps_types = frozenset(STANDARD_PS_OPS if ps_ops is None else ps_ops)
    ps, worker = DeviceSpec.from_string(ps_device), DeviceSpec.from_string(worker_device)

    def device_of(op: Operation) -> str:
        if op.device and not merge_devices:
            return op.device
        asked = DeviceSpec.from_string(op.device)
        if not ps_device or op.type not in ps_types:
            return worker.make_merged_spec(asked).to_string()
        # A node that an inner block puts into another job does not take a turn.
        takes_turn = ps.job is not None and asked.job in (None, ps.job)
        home = ps.replace(task=strategy(op)) if takes_turn else ps
        return home.make_merged_spec(asked).to_string()

    return device_of


class _RoundRobinStrategy:
    def __init__(self, num_tasks: int) -> None:
        self._num_tasks, self._next = num_tasks, 0

    def __call__(self, op: Operation) -> int:
        task, self._next = self._next, (self._next + 1) % self._num_tasks
        return task


@export("contrib.training.GreedyLoadBalancingStrategy")
class GreedyLoadBalancingStrategy:
    """For `replica_device_setter(ps_strategy=…)`: each variable goes to the task with the least load so far.

    load_fn: the load of an op, such as `byte_size_load_fn`.
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Operation], float]) -> None:
        self._loads = [0.0] * num_tasks
        self._load_fn = load_fn

    def __call__(self, op: Operation) -> int:
        task = self._loads.index(min(self._loads))
        self._loads[task] += self._load_fn(op)
        return task


@export("contrib.training.RandomStrategy")
class RandomStrategy:
    """For `replica_device_setter(ps_strategy=…)`: a task that depends only on the variable's name and `seed`."""

    def __init__(self, num_tasks: int, seed: int = 0) -> None:
        self._num_tasks, self._seed = num_tasks, seed

    def __call__(self, op: Operation) -> int:
        digest = hashlib.md5(f"{op.name}_{self._seed}".encode(), usedforsecurity=False)
        return int(digest.hexdigest(), 16) % self._num_tasks


@export("contrib.training.byte_size_load_fn")
def byte_size_load_fn(op: Operation) -> float:
    """The bytes of a variable's value; raises ValueError for an unknown shape."""
    shape, dtype = op.attrs.get("shape"), op.attrs["dtype"]  # device functions are called before shapes are inferred
    size = None if shape is None else shape.num_elements()
    if size is None:
        raise ValueError(f"The shape of {op.name} must be known to determine its size")
    return float(size * dtype.size)
