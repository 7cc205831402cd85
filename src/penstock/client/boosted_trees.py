"""Ensembles of trees and quantiles of numbers in a graph, which savers save (TF: boosted_trees_ops)."""

from __future__ import annotations

from typing import Any

from penstock.client.resources import register_resource
from penstock.client.saveables import SaveableObject, SaveSpec
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import GraphKeys, add_to_collection, control_dependencies, name_scope
from penstock.ops.basic import identity
from penstock.ops.boosted_trees import quantile_ops, resources
from penstock.tensor.dtypes import int64


class TreeEnsemble:
    """An ensemble of trees. One that `is_local` is a worker's copy, which is not saved."""

    def __init__(self, name: str, stamp_token: int = 0, is_local: bool = False, serialized_proto: Any = b"") -> None:
        with name_scope(name, "TreeEnsemble") as scope:
            self.resource_handle = resources.ENSEMBLE(shared_name=scope, name=scope)
            self.initializer = resources.CREATE(
                self.resource_handle, convert_to_tensor(stamp_token, int64), serialized_proto
            )
            created = resources.IS_CREATED(self.resource_handle)
            if not is_local:
                add_to_collection(GraphKeys.SAVEABLE_OBJECTS, _SaveableEnsemble(self))
            register_resource(self.resource_handle, self.initializer, created, is_shared=not is_local)

    def get_states(self) -> tuple[Tensor, ...]:
        """The stamp, which each update raises; the numbers of trees, of finished trees and of layers that were tried to
        grow; and the nodes of the last layer, [first, end]."""
        names = ("stamp_token", "num_trees", "num_finalized_trees", "num_attempted_layers", "last_layer_nodes_range")
        found = resources.GET_STATES(self.resource_handle)
        return tuple(identity(each, name=name) for each, name in zip(found, names, strict=True))

    def serialize(self) -> tuple[Tensor, Tensor]:
        """The stamp, and a TreeEnsemble as bytes."""
        stamp, serialized = resources.SERIALIZE(self.resource_handle)
        return stamp, serialized

    def deserialize(self, stamp_token: Any, serialized_proto: Any) -> Operation:
        done: Operation = resources.DESERIALIZE(self.resource_handle, stamp_token, serialized_proto)
        return done


class _SaveableEnsemble(SaveableObject):
    def __init__(self, ensemble: TreeEnsemble) -> None:
        self._ensemble = ensemble
        handle = ensemble.resource_handle
        stamp, serialized = ensemble.serialize()
        specs = [SaveSpec(stamp, "", f"{handle.name}_stamp"), SaveSpec(serialized, "", f"{handle.name}_serialized")]
        super().__init__(handle.op, specs, handle.name)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Any) -> Operation:
        with control_dependencies([self._ensemble.initializer]):
            return self._ensemble.deserialize(*restored_tensors)


class QuantileAccumulator:
    """Quantiles of `num_streams` streams of numbers, with an error of `epsilon`; what is saved is their boundaries."""

    def __init__(self, epsilon: float, num_streams: int, num_quantiles: int, name: str | None = None) -> None:
        self._epsilon, self._num_streams, self._num_quantiles = epsilon, num_streams, num_quantiles
        with name_scope(name, "QuantileAccumulator") as scope:
            self.resource_handle = quantile_ops.STREAMS(shared_name=scope, name=scope)
            self.initializer = quantile_ops.CREATE(self.resource_handle, epsilon, convert_to_tensor(num_streams, int64))
            created = quantile_ops.IS_CREATED(self.resource_handle)
        register_resource(self.resource_handle, self.initializer, created)
        add_to_collection(GraphKeys.SAVEABLE_OBJECTS, _SaveableQuantiles(self, num_streams))

    def add_summaries(self, float_columns: list[Tensor], example_weights: Any) -> Operation:
        """Adds a batch: a vector for each stream, and weights [examples] or [1]."""
        summaries = quantile_ops.MAKE_SUMMARIES(float_columns, example_weights, self._epsilon)
        added: Operation = quantile_ops.ADD_SUMMARIES(self.resource_handle, listed(summaries))
        return added

    def flush(self) -> Operation:
        """Makes boundaries of what was added."""
        flushed: Operation = quantile_ops.FLUSH(self.resource_handle, convert_to_tensor(self._num_quantiles, int64))
        return flushed

    def get_bucket_boundaries(self) -> list[Tensor]:
        """Of each stream; empty vectors before the first flush."""
        return listed(quantile_ops.GET_BOUNDARIES(self.resource_handle, num_features=self._num_streams))

    def deserialize(self, bucket_boundaries: list[Tensor]) -> Operation:
        done: Operation = quantile_ops.DESERIALIZE(self.resource_handle, bucket_boundaries)
        return done


def listed(found: Any) -> list[Tensor]:
    """The outputs of an op that has one for each feature, which is a tensor alone if there is one feature."""
    return list(found) if isinstance(found, list | tuple) else [found]


class _SaveableQuantiles(SaveableObject):
    def __init__(self, accumulator: QuantileAccumulator, num_streams: int) -> None:
        self._accumulator = accumulator
        name = accumulator.resource_handle.name
        specs = [
            SaveSpec(boundaries, "", f"{name}_bucket_boundaries_{number}")
            for number, boundaries in enumerate(accumulator.get_bucket_boundaries())
        ]
        super().__init__(accumulator.resource_handle.op, specs, name)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Any) -> Operation:
        with control_dependencies([self._accumulator.initializer]):
            return self._accumulator.deserialize(restored_tensors)
