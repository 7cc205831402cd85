"""Replicas of a model in one graph: a function builds its nodes once for each of them, on the replica's device.

The function runs in a thread for each replica, one thread at a time: each until its end, or until its next
`merge_call`. There all replicas meet, and one function gets the arguments of all. Replicas have the same variables:
what the first creates, the others find. (TF: the replica contexts of tf.distribute.)
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.client.variable import VariableAggregation, VariableSynchronization
from penstock.client.variable_creators import Creator, creators
from penstock.client.variable_scope import get_variable_scope, variable_scope
from penstock.graph.graph import Graph
from penstock.graph.scopes import device, get_default_graph, name_scope

_PREFIX = re.compile(r"(?:.*/)?(replica_\d+)/")


@dataclass(frozen=True)
class PerReplica:
    """One value for each replica, in their order."""

    values: tuple[Any, ...]


class _Here(threading.local):
    """Which strategy's scope, and which replica's part, this thread builds in."""

    def __init__(self) -> None:
        self.strategy: Any = None
        self.replica: ReplicaContext | None = None


here = _Here()


def scaled_by_replicas(loss: Any) -> Any:
    """A replica's loss, so scaled that the sum of the replicas' gradients is what the program wants.

    That is the mean, unless losses are sums or the program scales them itself.
    """
    strategy = here.strategy
    if here.replica is None or not strategy.scales_loss or get_default_graph().loss_is_sum:
        return loss
    return loss if strategy.num_replicas_in_sync == 1 else loss * (1.0 / strategy.num_replicas_in_sync)


class ReplicaContext:
    """What a function that builds a replica can ask for (TF: tf.distribute.ReplicaContext)."""

    def __init__(self, strategy: Any, index: int, device: str, prefix: str, runner: _Runner) -> None:
        self.strategy, self._index, self._device, self.prefix, self._runner = strategy, index, device, prefix, runner

    distribution_strategy = property(lambda self: self.strategy)

    @property
    def replica_id_in_sync_group(self) -> int:
        """The number of the replica, from 0."""
        return self._index

    @property
    def num_replicas_in_sync(self) -> int:
        return int(self.strategy.num_replicas_in_sync)

    @property
    def devices(self) -> tuple[str, ...]:
        return (self._device,)

    def built(self, op: Any) -> bool:
        """Whether this replica, not another one, built the node."""
        found = _PREFIX.match(op.name)
        return (found.group(1) if found else "") == self.prefix

    def merge_call(self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        """`merge_fn(strategy, *args, **kwargs)`, called once for all replicas, which all must call it.

        Arguments in which replicas differ are PerReplica, also inside lists, tuples and dicts. Of a PerReplica that it
        returns, each replica gets its value.
        """
        return self._runner.merge(merge_fn, tuple(args), dict(kwargs or {}))

    # TF 1.12's names
    tower_id = replica_id_in_sync_group
    num_towers = num_replicas_in_sync


# --- updates --------------------------------------------------------------------------------------------


def updates_once(variable: Any) -> bool:
    """Whether all replicas update the variable together. (Of sums that are only read at the end, each adds its own.)"""
    return here.replica is not None and variable.synchronization is not VariableSynchronization.ON_READ


def update_once(variable: Any, method: str, value: Any, *rest: Any) -> Any:
    """For a replica: one call of the method, with the values of all replicas combined as the variable's aggregation
    says. Raises ValueError if it does not say."""
    aggregation = variable.aggregation
    if aggregation is VariableAggregation.NONE:
        raise ValueError(
            f"{variable.name} is updated in replicas, whose values may differ: give it an aggregation, such as "
            "tf.VariableAggregation.MEAN."
        )

    def update(strategy: Any, value: Any) -> Any:
        if aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            value = value_of(value, 0)
        else:
            value = strategy.reduce_to(aggregation, value, variable)
        return getattr(variable, method)(value, *rest)

    assert here.replica is not None
    return here.replica.merge_call(update, (value,))


# --- building -------------------------------------------------------------------------------------------


def call_for_each_replica(strategy: Any, devices: Sequence[str], fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What `fn` returns in each replica, as `regrouped` does; of PerReplica arguments each replica gets its value.

    Raises what `fn` raises, and RuntimeError if only some replicas call `merge_call`.
    """
    if here.replica is not None:
        raise RuntimeError("A replica cannot have replicas: call this outside call_for_each_replica.")
    shared = _SharedVariables()
    runners = [
        _Runner(strategy, index, where, shared, fn, value_of(args, index), value_of(kwargs, index))
        for index, where in enumerate(devices)
    ]
    try:
        while True:
            for runner in runners:
                runner.resume()
            merges = [runner.asked for runner in runners if runner.asked is not None]
            if not merges:
                return regrouped([runner.result for runner in runners])
            if len(merges) < len(runners):
                raise RuntimeError("Some replicas called merge_call, and others ended: all must call it equally often.")
            with runners[0].graph.enter_scopes({**merges[0].scopes, "devices": []}):
                merged = merges[0].fn(
                    strategy, *regrouped([m.args for m in merges]), **regrouped([m.kwargs for m in merges])
                )
            for index, runner in enumerate(runners):
                runner.result = value_of(merged, index)
    finally:
        for runner in runners:
            runner.abandon()


def value_of(structure: Any, index: int) -> Any:
    """What a replica gets of an argument for all."""
    if isinstance(structure, PerReplica):
        return structure.values[index]
    return _mapped(lambda parts: value_of(parts[0], index), [structure])


def regrouped(values: Sequence[Any]) -> Any:
    """One structure from equal ones of all replicas; leaves that are not the same object are PerReplica."""
    if all(value is values[0] for value in values):
        return values[0]
    whole = _mapped(regrouped, values)
    return PerReplica(tuple(values)) if whole is values[0] else whole


def _mapped(fn: Callable[[list[Any]], Any], values: Sequence[Any]) -> Any:
    """`fn` of the corresponding parts of equal lists, tuples or dicts; the first value if they are something else."""
    first = values[0]
    if isinstance(first, dict):
        pairs = [(key, fn([value[key] for value in values])) for key in first]
        return type(first)(pairs) if type(first) is not dict else dict(pairs)
    if not isinstance(first, list | tuple) or any(len(value) != len(first) for value in values):
        return first
    parts = [fn(list(of_one)) for of_one in zip(*values, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)


# --- variables that replicas share ----------------------------------------------------------------------

_NUMBERS = re.compile(r"_\d+(?=/|$)")


class _SharedVariables:
    """What the first replica creates, by name without numbers, in order."""

    def __init__(self) -> None:
        self._created: dict[str, list[Any]] = {}

    def creator(self, index: int) -> Creator:
        """Of a replica: the first creates, the others take what it has created."""
        taken: dict[str, int] = {}

        def create(next_creator: Creator, **kwargs: Any) -> Any:
            name = _NUMBERS.sub("", kwargs.get("name") or "Variable")
            made = self._created.setdefault(name, [])
            if index == 0:
                made.append(next_creator(**kwargs))
                return made[-1]
            taken[name] = taken.get(name, 0) + 1
            if taken[name] > len(made):
                raise RuntimeError(f"Replica {index} creates a variable that the first one did not: {name}")
            return made[taken[name] - 1]

        return create


# --- threads --------------------------------------------------------------------------------------------


@dataclass
class _Merge:
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    scopes: dict[str, Any]


class _AbandonedError(BaseException):
    """Ends the thread of a replica whose others failed."""


@dataclass
class _Runner:
    """The thread of one replica. `resume` lets it run on, until it asks for a merge or has ended."""

    strategy: Any
    index: int
    device: str
    shared: _SharedVariables
    fn: Callable[..., Any]
    args: Any
    kwargs: Any
    asked: _Merge | None = None
    result: Any = None
    """What `fn` returned, or for a replica that asked for a merge, what this is to return."""
    graph: Graph = field(default_factory=get_default_graph)

    def __post_init__(self) -> None:
        self._scopes = self.graph.scopes_here()
        self._variable_scope, self._creators = get_variable_scope(), creators.stack
        self._error: BaseException | None = None
        self._given_up = False
        self._go, self._paused = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name=f"penstock-replica-{self.index}", daemon=True)
        self._thread.start()

    def resume(self) -> None:
        self.asked = None
        self._go.release()
        self._paused.acquire()
        if self._error is not None:
            raise self._error

    def abandon(self) -> None:
        self._given_up = True
        self._go.release()
        self._thread.join()

    def merge(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """In the replica's thread."""
        self.asked = _Merge(fn, args, kwargs, self.graph.scopes_here())
        self._paused.release()
        self._wait()
        return self.result

    def _wait(self) -> None:
        self._go.acquire()
        if self._given_up:
            raise _AbandonedError

    def _run(self) -> None:
        try:
            self._wait()
            with self._as_replica():
                self.result = self.fn(*self.args, **self.kwargs)
        except _AbandonedError:
            pass
        except BaseException as error:
            self._error = error
        finally:
            self._paused.release()

    @contextlib.contextmanager
    def _as_replica(self) -> Iterator[None]:
        prefix = f"replica_{self.index}" if self.index else ""
        creators.stack = (*self._creators, self.shared.creator(self.index))
        here.strategy = self.strategy
        here.replica = ReplicaContext(self.strategy, self.index, self.device, prefix, self)
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.graph.as_default())
            stack.enter_context(self.graph.enter_scopes(self._scopes))
            stack.enter_context(
                variable_scope(self._variable_scope, reuse=bool(self.index) or None, auxiliary_name_scope=False)
            )
            if prefix:
                stack.enter_context(name_scope(prefix))
            stack.enter_context(device(self.device))
            yield
