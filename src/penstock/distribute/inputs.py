"""Input for replicas: each gets batches of its own, or a part of each batch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.client.replicas import regrouped
from penstock.data import nest
from penstock.data.core import DatasetBase
from penstock.data.dataset import Dataset
from penstock.export import export
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation
from penstock.graph.scopes import GraphKeys, add_to_collection, control_dependencies, device


@export("distribute.InputContext")
@dataclass(frozen=True)
class InputContext:
    """What an input function can ask for: how many pipelines divide the input, and which one it makes."""

    num_input_pipelines: int = 1
    input_pipeline_id: int = 0
    num_replicas_in_sync: int = 1

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Raises ValueError unless the replicas can divide the batch."""
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The global batch size {global_batch_size} is not divisible by {self.num_replicas_in_sync} replicas."
            )
        return global_batch_size // self.num_replicas_in_sync


class PerReplicaInput:
    """Each replica takes the next batch of one dataset, in their order; `get_next` has a PerReplica for each tensor."""

    def __init__(
        self, input_fn: Callable[..., Any], devices: Sequence[str], share: tuple[int, int], replicas: int | None = None
    ) -> None:
        self._devices = devices
        pipelines, own = share
        context = InputContext(pipelines, own, replicas or len(devices) * pipelines)
        with device("/cpu:0"):
            made = input_fn(context) if _takes_context(input_fn) else input_fn()
            if not isinstance(made, DatasetBase):
                raise ValueError("A strategy's input function must return a tf.data.Dataset.")
            self._iterator = Dataset.make_initializable_iterator(made)  # type: ignore[arg-type]

    @property
    def initializer(self) -> Operation:
        return self._iterator.initializer

    def initialize(self) -> Operation:
        """The operation that begins with the first element."""
        return self._iterator.initializer

    def get_next(self) -> Any:
        """The next element of each replica. Its operations end with OutOfRangeError if there is none for some."""
        parts: list[Any] = []
        for _ in self._devices:
            before = [nest.flatten(parts[-1])[0].op] if parts else []
            with device("/cpu:0"), control_dependencies(before):
                parts.append(self._iterator.get_next())
        return regrouped(parts)

    def make_initializable_iterator(self) -> PerReplicaInput:
        return self

    def make_one_shot_iterator(self) -> PerReplicaInput:
        """Also to be initialised: Estimators and monitored sessions do this with the tables."""
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, self.initializer)
        return self


class DatasetIterator(PerReplicaInput):
    """Each replica takes a part of the next batch of a dataset, all of about the same size."""

    def __init__(self, dataset: Any, devices: Sequence[str], share: tuple[int, int]) -> None:
        pipelines, own = share
        super().__init__(lambda: dataset if pipelines == 1 else dataset.shard(pipelines, own), devices, (1, 0))

    def get_next(self) -> Any:
        with device("/cpu:0"):
            whole = self._iterator.get_next()
            return regrouped([_part(whole, i, len(self._devices)) for i in range(len(self._devices))])


class NumpyIterator(DatasetIterator):
    """Batches of arrays, which it holds in the graph."""

    def __init__(
        self,
        arrays: Any,
        batch_size: int,
        num_epochs: int | None,
        shuffle: int | None,
        devices: Sequence[str],
        share: tuple[int, int],
    ) -> None:
        data: Any = Dataset.from_tensor_slices(nest.map_structure(np.asarray, arrays))
        data = data.shuffle(shuffle) if shuffle else data
        super().__init__(data.repeat(num_epochs).batch(batch_size), devices, share)


def _part(whole: Any, index: int, count: int) -> Any:
    def part(tensor: Any) -> Any:
        size = tensor.shape.as_list()[0] if tensor.shape.ndims else None
        if size is None:
            size = get_op("StridedSlice")(get_op("Shape")(tensor), [0], [1], [1], shrink_axis_mask=1)
        return tensor[size * index // count : size * (index + 1) // count]

    return nest.map_structure(part, whole)


def _takes_context(input_fn: Callable[..., Any]) -> bool:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(input_fn).parameters.values()
    return any(p.kind in kinds and p.default is p.empty for p in parameters)
