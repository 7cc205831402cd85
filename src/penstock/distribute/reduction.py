"""Sums over replicas, placed where they are used (TF: the cross-device ops of tf.distribute).

A variable exists once, and its gradients are added up on its device. As a strategy spreads variables over the
devices, this is an all-reduce in its two halves: gradients are reduced and scattered, and the next step gathers the new
values. It moves as many bytes as an all-reduce of the gradients, and each variable is updated once, not on each device.
"""

from __future__ import annotations

import enum
from typing import Any

from penstock.client.replicas import PerReplica
from penstock.client.variable import Variable, VariableAggregation
from penstock.export import export
from penstock.gradients.aggregate import aggregate
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Operation
from penstock.graph.scopes import colocate_with, device


@export("distribute.ReduceOp")
class ReduceOp(enum.Enum):
    """How values of replicas are made one (TF: tf.distribute.ReduceOp)."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def of(given: Any) -> ReduceOp:
        """From a name, or from a variable's aggregation. Raises ValueError for any other."""
        if isinstance(given, ReduceOp):
            return given
        name = given.name if isinstance(given, VariableAggregation) else str(given).upper()
        if name not in ReduceOp.__members__:
            raise ValueError(f"Replicas are reduced by SUM or MEAN, not {given!r}")
        return ReduceOp[name]


@export("distribute.CrossDeviceOps", "contrib.distribute.CrossDeviceOps", "contrib.distribute.CrossTowerOps")
class CrossDeviceOps:
    """How a strategy adds up. The default adds on the device of the variable."""

    def reduce(self, reduce_op: Any, per_replica_value: Any, destinations: Any = None) -> Any:
        """The sum or mean of a PerReplica on the device of `destinations` (a device, a variable or a tensor)."""
        values = list(per_replica_value.values) if isinstance(per_replica_value, PerReplica) else [per_replica_value]
        with _at(destinations):
            total = aggregate([_as_part(value) for value in values], None)
            return _divided(total, len(values)) if ReduceOp.of(reduce_op) is ReduceOp.MEAN else total

    def batch_reduce(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        return [self.reduce(reduce_op, value, destinations) for value, destinations in value_destination_pairs]


@export(
    "distribute.ReductionToOneDevice",
    "contrib.distribute.ReductionToOneDeviceCrossDeviceOps",
    "contrib.distribute.ReductionToOneDeviceCrossTowerOps",
)
class ReductionToOneDevice(CrossDeviceOps):
    """Adds on one device. `accumulation_fn`: of a list of tensors (tf.add_n)."""

    def __init__(self, reduce_to_device: str | None = None, accumulation_fn: Any = None) -> None:
        self._device, self._accumulate = reduce_to_device, accumulation_fn

    def reduce(self, reduce_op: Any, per_replica_value: Any, destinations: Any = None) -> Any:
        where = destinations if self._device is None else self._device
        values = per_replica_value.values if isinstance(per_replica_value, PerReplica) else (per_replica_value,)
        if self._accumulate is None or any(isinstance(value, IndexedSlices) for value in values):
            return super().reduce(reduce_op, per_replica_value, where)
        with _at(where):
            total = self._accumulate([convert_to_tensor(value) for value in values])
            return _divided(total, len(values)) if ReduceOp.of(reduce_op) is ReduceOp.MEAN else total


@export(
    "distribute.HierarchicalCopyAllReduce",
    "distribute.NcclAllReduce",
    "contrib.distribute.AllReduceCrossDeviceOps",
    "contrib.distribute.AllReduceCrossTowerOps",
)
class AllReduceCrossDeviceOps(CrossDeviceOps):
    """Takes the settings of TensorFlow's all-reduces, and adds as all strategies here do."""

    def __init__(
        self,
        all_reduce_alg: str = "nccl",
        num_packs: int = 1,
        agg_small_grads_max_bytes: int = 0,
        agg_small_grads_max_group: int = 10,
    ) -> None:
        self.all_reduce_alg, self.num_packs = all_reduce_alg, num_packs


def _as_part(value: Any) -> Any:
    return value if isinstance(value, IndexedSlices) else convert_to_tensor(value)


def _divided(total: Any, count: int) -> Any:
    if isinstance(total, IndexedSlices):
        return IndexedSlices(total.values / count, total.indices, total.dense_shape)
    return total / count


def _at(destinations: Any) -> Any:
    if isinstance(destinations, PerReplica):
        destinations = destinations.values[0]
    if isinstance(destinations, list | tuple):
        destinations = destinations[0] if destinations else None
    if isinstance(destinations, Variable | Operation) or hasattr(destinations, "op"):
        return colocate_with(getattr(destinations, "op", destinations), ignore_existing=True)
    return device(destinations)
