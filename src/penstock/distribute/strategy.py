"""`Strategy`: where the replicas of a model compute, where its variables are, and how gradients meet."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from penstock.client.replicas import PerReplica, ReplicaContext, call_for_each_replica, here
from penstock.client.variable_creators import Creator, variable_creator_scope
from penstock.distribute.inputs import DatasetIterator, NumpyIterator, PerReplicaInput
from penstock.distribute.reduction import CrossDeviceOps, ReduceOp
from penstock.export import export
from penstock.graph.device_spec import canonical_name
from penstock.graph.scopes import colocate_with as colocated, device
from penstock.ops.basic import group, no_op
from penstock.ops.reduce import reduce_mean, reduce_sum
from penstock.tensor.shapes import TensorShape
from penstock.train.session_run_hook import SessionRunHook


@export("distribute.Strategy", "contrib.distribute.DistributionStrategy")
class Strategy:
    """Builds a model once for each device, with variables that all replicas share (TF: tf.distribute.Strategy).

    Inside `scope()`, variables are put where the strategy says. `experimental_run_v2(fn, args)` builds a replica on
    each device. Optimizers of tf.train add up the gradients of all replicas before they apply them.
    """

    scales_loss = False
    """Whether optimizers make the sum of gradients the mean. Estimators always do."""

    def __init__(self, devices: Sequence[str], cross_device_ops: CrossDeviceOps | None = None) -> None:
        self._devices = tuple(canonical_name(name) for name in devices)
        if not self._devices:
            raise ValueError("A strategy needs at least one device.")
        if len(set(self._devices)) < len(self._devices):
            raise ValueError(f"Duplicate devices: {list(devices)}")
        self.cross_device_ops = cross_device_ops or CrossDeviceOps()
        self._loads: dict[str, float] = {}

    @contextlib.contextmanager
    def mean_of_losses(self) -> Iterator[None]:
        """Optimizers inside take the mean of replicas' losses, not their sum."""
        scaled, self.scales_loss = self.scales_loss, True
        try:
            yield
        finally:
            self.scales_loss = scaled

    # --- what there is ----------------------------------------------------------------------------------

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas make an update together."""
        return len(self._devices)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices of the replicas that are built here."""
        return self._devices

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """Where variables may be."""
        return self._devices

    @property
    def extended(self) -> Strategy:
        """What TensorFlow keeps apart for authors of libraries: the same object."""
        return self

    # TF 1.12's names
    num_towers = property(lambda self: self.num_replicas_in_sync)
    num_replicas = property(lambda self: self.num_replicas_in_sync)
    is_single_tower = property(lambda self: self.num_replicas_in_sync == 1)
    between_graph = experimental_between_graph = False
    should_init = experimental_should_init = True
    should_checkpoint = should_save_summary = True

    # --- building ---------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Variables that are made inside belong to the strategy. Raises RuntimeError inside another strategy's."""
        if here.strategy is not None and here.strategy is not self:
            raise RuntimeError("Another strategy's scope is open: strategies cannot be mixed.")
        outer, here.strategy = here.strategy, self
        try:
            # A scope in the same strategy's scope changes nothing.
            with variable_creator_scope(self._create) if outer is None else contextlib.nullcontext():
                yield self
        finally:
            here.strategy = outer

    def call_for_each_replica(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Builds `fn(*args, **kwargs)` on each device; of PerReplica arguments each replica gets its value.

        Returns what the replicas return, PerReplica where they differ.
        """
        with self.scope():
            return call_for_each_replica(self, self._devices, fn, tuple(args), dict(kwargs or {}))

    experimental_run_v2 = run = call_for_each_replica

    def call_for_each_tower(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("run_concurrently", None)
        return self.call_for_each_replica(fn, args, kwargs)

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """`fn` for each replica, of its part of the next input."""
        return self.call_for_each_replica(fn, () if input_iterator is None else (input_iterator.get_next(),))

    def _create(self, next_creator: Creator, **kwargs: Any) -> Any:
        """A resource variable on the device that the strategy chooses, whatever is open around it."""
        kwargs["use_resource"] = True
        with device(self._device_of_variable(kwargs)):
            return next_creator(**kwargs)

    def _device_of_variable(self, kwargs: dict[str, Any]) -> Any:
        """The device with the fewest elements of variables so far."""
        where = min(self.parameter_devices, key=lambda name: self._loads.get(name, 0.0))
        if len(self.parameter_devices) > 1:
            self._loads[where] = self._loads.get(where, 0.0) + _elements(kwargs)
        return where

    # --- values of replicas -----------------------------------------------------------------------------

    def reduce(self, reduce_op: Any, value: Any, axis: Any = None, destinations: Any = None) -> Any:
        """The sum or mean over replicas, and over `axis` of each if it is given."""
        if isinstance(axis, int):
            value = self._reduced_axis(ReduceOp.of(reduce_op), value, axis)
        elif axis is not None:  # TF 1.12: the third argument is where it is wanted
            destinations = axis
        return self.reduce_to(reduce_op, value, destinations)

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any = None) -> Any:
        if not isinstance(value, PerReplica) and ReduceOp.of(reduce_op) is ReduceOp.MEAN:
            return value
        if not isinstance(value, PerReplica):
            value = PerReplica((value,) * len(self._devices))
        return self.cross_device_ops.reduce(reduce_op, value, destinations)

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        return [self.reduce_to(reduce_op, value, where) for value, where in value_destination_pairs]

    batch_reduce = batch_reduce_to

    def _reduced_axis(self, reduce_op: ReduceOp, value: Any, axis: int) -> Any:
        reduced = reduce_sum if reduce_op is ReduceOp.SUM else reduce_mean
        if isinstance(value, PerReplica):
            return PerReplica(tuple(reduced(part, axis) for part in value.values))
        return reduced(value, axis)

    def reduce_gradients(self, pairs: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """(gradient, variable) with the sums over replicas, for optimizers. Raises ValueError if only some replicas
        have a gradient."""
        for grad, variable in pairs:
            if isinstance(grad, PerReplica) and any(part is None for part in grad.values):
                raise ValueError(f"Only some replicas have a gradient for {variable.name}.")
            if isinstance(variable, PerReplica):
                raise ValueError("Replicas must apply gradients for the same variables in the same order.")
        given = [(grad, variable) for grad, variable in pairs if grad is not None]
        sums = iter(self.batch_reduce_to(ReduceOp.SUM, given))
        return [(None if grad is None else next(sums), variable) for grad, variable in pairs]

    def unwrap(self, value: Any) -> tuple[Any, ...]:
        """The values of all replicas."""
        return value.values if isinstance(value, PerReplica) else (value,)

    experimental_local_results = unwrap

    def group(self, value: Any, name: str | None = None) -> Any:
        """An operation that runs those of all replicas."""
        return group(*(part for part in self.unwrap(value) if part is not None), name=name)

    def update(self, var: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """`fn(var, *args)` where `var` is."""
        if "args" in kwargs:
            args = (*args, *kwargs.pop("args"))
        options, grouped = kwargs.pop("kwargs", None) or {}, kwargs.pop("group", True)
        with device(var.device):
            done = fn(var, *args, **options, **kwargs)
        return done if grouped else (done,)

    def update_non_slot(self, colocate_with: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if "args" in kwargs:
            args = (*args, *kwargs.pop("args"))
        options, grouped = kwargs.pop("kwargs", None) or {}, kwargs.pop("group", True)
        done = fn(*args, **options, **kwargs)
        return done if grouped else (done,)

    def broadcast(self, tensor: Any, destinations: Any = None) -> Any:
        return tensor

    broadcast_to = broadcast

    def read_var(self, var: Any) -> Any:
        return var.value()

    def value_container(self, value: Any) -> Any:
        return value

    def non_slot_devices(self, var_list: Any) -> Any:
        return min(var_list, key=lambda v: v.name)

    @contextlib.contextmanager
    def colocate_vars_with(self, colocate_with_variable: Any) -> Iterator[None]:
        with colocated(colocate_with_variable.op):
            yield

    # --- input ------------------------------------------------------------------------------------------

    def make_dataset_iterator(self, dataset: Any) -> Any:
        """Batches of the dataset, a part of each for each replica."""
        return DatasetIterator(dataset, self._devices, self._share())

    def make_input_fn_iterator(self, input_fn: Callable[..., Any], replication_mode: Any = None) -> Any:
        """Of a dataset whose batches are each for one replica; `input_fn` is called with an InputContext."""
        return PerReplicaInput(input_fn, self._devices, self._share())

    def distribute_dataset(self, dataset_fn: Callable[[], Any]) -> Any:
        """TF 1.12: a dataset whose iterators return a batch for each replica."""
        return PerReplicaInput(lambda: dataset_fn(), self._devices, self._share())

    def experimental_make_numpy_iterator(
        self,
        numpy_input: Any,
        batch_size: int,
        num_epochs: int | None = 1,
        shuffle: int | None = 1024,
        session: Any = None,
    ) -> Any:
        """Batches of arrays."""
        return NumpyIterator(numpy_input, batch_size, num_epochs, shuffle, self._devices, self._share())

    def _share(self) -> tuple[int, int]:
        """(how many processes divide the input, which of them this is)."""
        return 1, 0

    # --- sessions ---------------------------------------------------------------------------------------

    def configure(
        self, session_config: Any = None, cluster_spec: Any = None, task_type: str | None = None, task_id: Any = None
    ) -> None:
        """Tells the strategy what it runs in: changes `session_config` so that sessions have its devices."""
        if session_config is not None:
            wanted = [int(name.rpartition(":")[2]) + 1 for name in self._devices if ":CPU:" in name and "*" not in name]
            now = session_config.device_count.get("CPU", 1)
            if max(wanted, default=1) > now:
                session_config.device_count["CPU"] = max(wanted)

    def update_config_proto(self, config_proto: Any) -> Any:
        """A copy of the ConfigProto with the devices of the strategy."""
        changed = type(config_proto)()
        changed.CopyFrom(config_proto)
        self.configure(changed)
        return changed

    def session_hooks(self) -> list[SessionRunHook]:
        """Hooks for the sessions of Estimators, which also need `should_init` and `should_checkpoint`."""
        return []

    def initialize(self) -> Any:
        return no_op()

    finalize = experimental_initialize = experimental_finalize = initialize

    def __deepcopy__(self, memo: Any) -> Strategy:
        return self  # of a config that is copied: variables know their strategy


def _elements(kwargs: dict[str, Any]) -> float:
    """About how many elements a variable has that is made with these arguments."""
    value = kwargs.get("initial_value")
    shape = next(
        (
            s
            for s in (kwargs.get("shape"), kwargs.get("expected_shape"), getattr(value, "shape", None))
            if s is not None
        ),
        None,
    )
    return float((None if shape is None else TensorShape(shape).num_elements()) or 1)


def local_devices(count: int | None = None) -> list[str]:
    """The GPUs of this process, or so many of them; without any, the CPU."""
    gpus = torch.cuda.device_count() if count is None else count
    return [f"/device:GPU:{i}" for i in range(gpus)] or ["/device:CPU:0"]


def cluster_of(resolver: Any = None) -> tuple[Any, str | None, Any]:
    """(cluster, job, index of the task) that a cluster resolver says, or else TF_CONFIG; None without a cluster."""
    if resolver is not None:
        return resolver.cluster_spec(), resolver.task_type, resolver.task_id
    environment = json.loads(os.environ.get("TF_CONFIG") or "{}")
    task = environment.get("task") or {}
    return environment.get("cluster"), task.get("type"), task.get("index")


# --- what a program asks for --------------------------------------------------------------------------


@export("distribute.has_strategy", "contrib.distribute.has_distribution_strategy")
def has_strategy() -> bool:
    """Whether a strategy's scope is open."""
    return here.strategy is not None


@export("distribute.get_strategy", "contrib.distribute.get_distribution_strategy")
def get_strategy() -> Strategy:
    """The strategy whose scope is open, or one of a single replica on any device."""
    return here.strategy or _DEFAULT


@export(
    "distribute.get_replica_context", "contrib.distribute.get_replica_context", "contrib.distribute.get_tower_context"
)
def get_replica_context() -> ReplicaContext | None:
    """What the replica being built can ask for; None in a strategy's scope outside of replicas."""
    if here.strategy is None:
        return _DefaultContext(_DEFAULT)
    return here.replica


@export("distribute.in_cross_replica_context")
def in_cross_replica_context() -> bool:
    """Whether a strategy's scope is open, and no replica is being built."""
    return here.strategy is not None and here.replica is None


@export("contrib.distribute.get_cross_tower_context", "contrib.distribute.get_cross_replica_context")
def get_cross_replica_context() -> Strategy | None:
    """The strategy, outside of replicas."""
    return get_strategy() if in_cross_replica_context() else None


class _DefaultStrategy(Strategy):
    """Without a scope: one replica, and variables as they come."""

    def __init__(self) -> None:
        super().__init__([""])

    def _create(self, next_creator: Creator, **kwargs: Any) -> Any:
        return next_creator(**kwargs)


class _DefaultContext(ReplicaContext):
    def __init__(self, strategy: Strategy) -> None:
        super().__init__(strategy, 0, "", "", None)  # type: ignore[arg-type]

    def merge_call(self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        return merge_fn(self.strategy, *args, **dict(kwargs or {}))


_DEFAULT = _DefaultStrategy()
