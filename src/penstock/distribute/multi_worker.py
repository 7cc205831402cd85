"""All-reduce between the workers of a cluster, each of which has the whole model (TF: CollectiveAllReduceStrategy).

A worker's graph adds the gradients of its own replicas, and packs them. Worker i adds part i of each pack: all workers
send it theirs, and it sends the sum back. Each sends and receives 2 (n - 1) / n of the gradients, as in a ring, but in
two hops. The parts meet in collective operations, because workers have sessions, and hence steps, of their own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from penstock import errors
from penstock.client.variable_creators import Creator
from penstock.cluster.spec import ClusterSpec
from penstock.distribute.reduction import ReduceOp
from penstock.distribute.strategy import Strategy, cluster_of, local_devices
from penstock.export import export
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import convert_to_tensor
from penstock.graph.graph import Graph
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, colocate_with, device, get_default_graph
from penstock.ops.joining import concat, split
from penstock.tensor.dtypes import DType, bool as bool_, float16, float32, float64, int32, int64
from penstock.train.session_run_hook import SessionRunHook

_PACK = 8 << 20
"""Bytes of a pack: large enough for the parts' transfers to be worth their messages, and small enough that the first
packs are on their way while gradients are still computed."""
_WHOLE = 64 << 10
"""Packs of fewer bytes are added by one worker: each takes its turn."""
_SENT = frozenset({bool_, float16, float32, float64, int32, int64})


@export("distribute.experimental.CollectiveCommunication")
class CollectiveCommunication:
    """How collective operations communicate; here all say the same."""

    AUTO, RING, NCCL = "AUTO", "RING", "NCCL"


@export("distribute.experimental.MultiWorkerMirroredStrategy")
class MultiWorkerMirroredStrategy(Strategy):
    """Replicas in the chief and the workers of a cluster, on the GPUs of each, or its CPU, which train together.

    Each process builds the graph for its own part. Which task of which cluster this process is, TF_CONFIG or
    `configure` says. Variables begin with the values that the first worker draws.
    """

    between_graph = experimental_between_graph = True

    def __init__(
        self, communication: Any = None, cluster_resolver: Any = None, devices: Sequence[str] | None = None
    ) -> None:
        super().__init__(local_devices() if devices is None else devices)
        self._local = self._devices
        self._workers: list[str] = [""]
        self._rank = 0
        self._keys: WeakKeyDictionary[Graph, int] = WeakKeyDictionary()
        self.configure(None, *cluster_of(cluster_resolver))

    def configure(
        self, session_config: Any = None, cluster_spec: Any = None, task_type: str | None = None, task_id: Any = None
    ) -> None:
        """Raises ValueError if the task is none of the cluster's workers."""
        if cluster_spec:
            jobs = ClusterSpec(cluster_spec)
            self._workers = [
                f"/job:{job}/task:{i}" for job in ("chief", "master", "worker") if job in jobs.jobs
                for i in jobs.task_indices(job)
            ]  # fmt: skip
            own = f"/job:{task_type}/task:{int(task_id or 0)}"
            if own not in self._workers:
                if task_type == "evaluator":  # a process of its own
                    self._workers, own = [""], ""
                else:
                    raise ValueError(f"{own} does not train: the cluster's workers are {self._workers}.")
            self._rank = self._workers.index(own)
            self._devices = tuple(own + name for name in self._local)
        if session_config is not None:
            super().configure(session_config)
            del session_config.device_filters[:]  # workers send each other their gradients

    @property
    def num_replicas_in_sync(self) -> int:
        return len(self._devices) * len(self._workers)

    @property
    def should_checkpoint(self) -> bool:  # type: ignore[override]
        """Whether this is the first worker: all have the same values, and one writes them."""
        return self._rank == 0

    should_save_summary = should_checkpoint

    def _share(self) -> tuple[int, int]:
        return len(self._workers), self._rank

    def session_hooks(self) -> list[SessionRunHook]:
        return [_LeaveTogether(self._reduced(convert_to_tensor(1.0), 0))] if len(self._workers) > 1 else []

    # --- variables --------------------------------------------------------------------------------------

    def _create(self, next_creator: Creator, **kwargs: Any) -> Any:
        local = GraphKeys.LOCAL_VARIABLES in (kwargs.get("collections") or ())
        if len(self._workers) > 1 and not local:
            given, dtype = kwargs["initial_value"], kwargs.get("dtype")

            def initial_value() -> Tensor:
                return self._of_first(convert_to_tensor(given() if callable(given) else given, dtype))

            kwargs["initial_value"] = initial_value
        return super()._create(next_creator, **kwargs)

    def _of_first(self, value: Tensor) -> Tensor:
        """What the first worker has."""
        if value.dtype not in _SENT or not value.shape.is_fully_defined():
            return value
        keys: dict[str, Any] = {
            "group_size": len(self._workers),
            "group_key": 1,
            "instance_key": self._key(),
            "shape": value.shape,
        }
        with self._member_at(0):
            if self._rank == 0:
                sent: Tensor = get_op("CollectiveBcastSend")(value, **keys)
                return sent
            received: Tensor = get_op("CollectiveBcastRecv")(T=value.dtype, **keys)
            return received

    # --- sums -------------------------------------------------------------------------------------------

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        pairs = list(value_destination_pairs)
        op = ReduceOp.of(reduce_op)
        sums = [super(MultiWorkerMirroredStrategy, self).reduce_to(op, value, where) for value, where in pairs]
        if len(self._workers) == 1:
            return sums
        found: list[Any] = [None] * len(sums)
        dense: dict[DType, list[int]] = {}
        for i, value in enumerate(sums):
            if isinstance(value, IndexedSlices):
                found[i] = self._gathered(value, op)
            else:
                dense.setdefault(value.dtype, []).append(i)
        for dtype, indices in dense.items():
            for pack in _packs(indices[::-1], sums, dtype.size):  # the last variables' gradients are ready first
                for i, total in zip(pack, self._all_reduced([sums[i] for i in pack], op), strict=True):
                    found[i] = total
        return found

    batch_reduce = batch_reduce_to

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any = None) -> Any:
        return self.batch_reduce_to(reduce_op, [(value, destinations)])[0]

    def _all_reduced(self, values: list[Tensor], op: ReduceOp) -> list[Tensor]:
        count = len(self._workers)
        with self._member_at(self._rank):
            flat = [get_op("Reshape")(value, [-1]) for value in values]
            packed = flat[0] if len(flat) == 1 else concat(flat, 0)
            size = packed.shape.num_elements()
            if size is None or size * packed.dtype.size < _WHOLE:
                total = self._reduced(packed, self._key(), op)
            else:
                sizes = [size * (i + 1) // count - size * i // count for i in range(count)]
                parts = [self._reduced(part, self._key(), op, i) for i, part in enumerate(split(packed, sizes))]
                total = concat(parts, 0)
            lengths = [value.shape.num_elements() for value in values]
            totals = [total] if len(values) == 1 else split(total, lengths)
            return [
                get_op("Reshape")(part, get_op("Shape")(value) if length is None else value.shape.as_list())
                for part, value, length in zip(totals, values, lengths, strict=True)
            ]

    def _reduced(self, value: Tensor, key: int, op: ReduceOp = ReduceOp.SUM, at: int | None = None) -> Tensor:
        """The sum of the workers' values, added by one of them."""
        with self._member_at(key if at is None else at):
            total: Tensor = get_op("CollectiveReduce")(
                value,
                group_size=len(self._workers),
                group_key=1,
                instance_key=key,
                merge_op="Add",
                final_op="Div" if op is ReduceOp.MEAN else "Id",
                subdiv_offsets=[0],
            )
        return total

    def _gathered(self, value: IndexedSlices, op: ReduceOp) -> IndexedSlices:
        """The rows of all workers."""
        values = value.values / len(self._workers) if op is ReduceOp.MEAN else value.values
        found: list[Tensor] = []
        for part in (values, value.indices):
            key = self._key()
            with self._member_at(key):
                found.append(
                    get_op("CollectiveGather")(
                        part,
                        group_size=len(self._workers),
                        group_key=1,
                        instance_key=key,
                        shape=[None, *part.shape.as_list()[1:]],
                    )
                )
        return IndexedSlices(found[0], found[1], value.dense_shape)

    @contextlib.contextmanager
    def _member_at(self, rank: int) -> Iterator[None]:
        """Builds on a worker's CPU, wherever the variable is that it is built for, and with this worker's number."""
        where = f"{self._workers[rank % len(self._workers)]}/device:CPU:0"
        attrs = {"_class": None, "_member": self._rank}
        with get_default_graph()._attr_scope(attrs), colocate_with(None, True), device(where):
            yield

    def _key(self) -> int:
        """The next instance of a collective operation in this graph: all workers build theirs in the same order."""
        graph = get_default_graph()
        self._keys[graph] = self._keys.get(graph, 0) + 1
        return self._keys[graph]


@export("contrib.distribute.CollectiveAllReduceStrategy")
class CollectiveAllReduceStrategy(MultiWorkerMirroredStrategy):
    """Replicas on so many GPUs of each worker, or on its CPU."""

    scales_loss = True

    def __init__(self, num_gpus_per_worker: int = 0, communication: Any = None) -> None:
        super().__init__(communication, devices=local_devices(num_gpus_per_worker))


class _LeaveTogether(SessionRunHook):
    """At the end, waits for the other workers: the last step of one may still need another."""

    def __init__(self, meeting: Tensor) -> None:
        self._meeting = meeting

    def end(self, session: Any) -> None:
        # If another one has already left, it needed nothing more.
        with contextlib.suppress(errors.AbortedError, errors.UnavailableError, errors.CancelledError):
            session.run(self._meeting)


def _packs(indices: list[int], values: list[Tensor], size: int) -> list[list[int]]:
    """Groups of neighbouring values of about `_PACK` bytes; those of unknown size are alone."""
    packs: list[list[int]] = []
    room = 0
    for i in indices:
        elements = values[i].shape.num_elements()
        needed = _PACK if elements is None else elements * size
        if not packs or needed > room:
            packs.append([])
            room = _PACK
        packs[-1].append(i)
        room -= needed
    return packs
