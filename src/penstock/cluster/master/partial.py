"""Partial runs over several tasks: one step, in which feeds are values that arrive and fetches are values that are
held for the client."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from penstock import errors
from penstock.cluster.master.plan import ClusterPlan, Running, Share, between_tasks
from penstock.cluster.master.tasks import Answers, Task
from penstock.cluster.worker.parts import task_of
from penstock.engine.pipeline import StepOptions
from penstock.graph.graph import Graph
from penstock.graph.opdef import get_op
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.graph.transfer_ops import FOR_CLIENT, RECV, SEND, SEND_CONTROL
from penstock.partition.partition import Partition, partition
from penstock.runtime.rendezvous import Key
from penstock.runtime.values import fetch_converter

if TYPE_CHECKING:
    from penstock.cluster.master.master import Master
    from penstock.partition.recv_timing import RecvTiming

_CPU = torch.device("cpu")
_ANYWHERE: tuple[Any, ...] = ()
"""The tag of what is in no loop."""


class _PartialPlan(ClusterPlan):
    """feeds: the tasks that take each feed, with its key there. fetches, targets: the task that holds each."""

    waits_for_client = True

    def _split(
        self, graph: StepGraph, used: list[str], options: StepOptions
    ) -> tuple[list[Partition], RecvTiming | None]:
        parts = partition(graph, options.compress, between_tasks, feeds_wait=True)
        self.feeds: list[list[tuple[str, Key]]] = [[] for _ in graph.feeds]
        self.fetches: dict[int, tuple[str, Key]] = {}
        self.targets: dict[str, tuple[str, Key]] = {}
        return [self._opened(part) for part in parts], None

    def _opened(self, part: Partition) -> Partition:
        """The part with Recvs in place of its feeds, and Sends of what the client wants."""
        task = task_of(part.device)
        host = f"{task}/device:CPU:0"
        instead: dict[Node, Node] = {}
        for place, feed in zip(part.feeds, part.graph.feeds, strict=True):
            key = f"feed {place} to {part.device}"
            self.feeds[place].append((task, (key, _ANYWHERE)))
            attrs = {"T": feed.dtypes[0], "key": key, "origin": host, "compress": False}
            instead[feed] = Node(
                feed.name, RECV, attrs, (), (), part.device, feed.dtypes, feed.shapes, feed.source
            )  # fmt: skip
        for node in part.graph.nodes:  # of a graph that `partition` has made for this
            node.inputs = tuple(Edge(instead.get(edge.node, edge.node), edge.port) for edge in node.inputs)
            node.controls = tuple(instead.get(control, control) for control in node.controls)
        nodes = [instead.get(node, node) for node in part.graph.nodes]

        def add(kind: str, op: Any, attrs: dict[str, Any], *inputs: Edge, controls: tuple[Node, ...] = ()) -> Key:
            key = f"{kind} from {part.device}"
            attrs = attrs | {"key": key, "target": host, FOR_CLIENT: True}
            nodes.append(Node(f"_{kind}".replace(" ", "_"), op, attrs, inputs, controls, part.device, (), ()))
            return key, _ANYWHERE

        for place, fetch in zip(part.fetches, part.graph.fetches, strict=True):
            edge = Edge(instead.get(fetch.node, fetch.node), fetch.port)
            dtype = edge.dtype.base_dtype
            if edge.dtype._is_ref_dtype:
                shape = edge.node.shapes[edge.port]
                read = Node(
                    f"_read_for_fetch_{place}", get_op("Identity"), {"T": dtype}, (edge,), (), part.device, (dtype,),
                    (shape,), edge.node.source,
                )  # fmt: skip
                nodes.append(read)
                edge = Edge(read, 0)
            self.fetches[place] = task, add(f"fetch {place}", SEND, {"T": dtype, "compress": False}, edge)
        for target in part.graph.targets:
            after = (instead.get(target, target),)
            self.targets[target.name] = task, add(f"run {target.name}", SEND_CONTROL, {}, controls=after)
        return Partition(part.device, StepGraph(nodes, [], [], []), [], [])


class PartialStep:
    """It has begun on all tasks, and ends when all that the client may ask for has been taken, or by `end`."""

    def __init__(self, master: Master, graph: StepGraph, options: StepOptions, client: Graph) -> None:
        self._master = master
        self._plan = plan = _PartialPlan(master, graph, options, client)
        self._convert = [fetch_converter(edge.dtype, _CPU, copy=True) for edge in graph.fetches]
        master.drop_released()
        self._running = Running(master, plan.shares)
        for share in plan.shares:
            if share.task.is_here:
                threading.Thread(target=self._run_here, args=(share,), daemon=True, name="partial run").start()
            else:
                self._running.start(share, plan.number, [], None, 0)

    def _run_here(self, share: Share) -> None:
        self._running.run_beside(share, self._plan.number)

    def convert(self, feed: int, value: Any) -> Any:
        return self._plan.converters[feed](value)

    def feed(self, given: Iterable[tuple[int, Any]]) -> None:
        by_task: dict[str, list[tuple[Key, Any]]] = {}
        for place, value in given:
            for task, key in self._plan.feeds[place]:
                by_task.setdefault(task, []).append((key, value))
        for name, items in by_task.items():
            self._task(name).tell("deliver", self._master.number, self._running.step, items)

    def take(self, fetches: Sequence[int], targets: Sequence[Node]) -> list[Any]:
        """The values of `fetches`, when they are there and `targets` have run. Raises the step's first error."""
        plan = self._plan
        wanted = [*(plan.fetches[place] for place in fetches), *(plan.targets[node.name] for node in targets)]
        by_task: dict[str, list[int]] = {}
        for i, (name, _) in enumerate(wanted):
            by_task.setdefault(name, []).append(i)
        answers = Answers(self._master.timeout)
        found: list[Any] = [None] * len(wanted)

        def took(places: list[int], values: list[Any]) -> None:
            for i, value in zip(places, values, strict=True):
                found[i] = value

        try:
            for name, places in sorted(by_task.items(), key=lambda entry: self._task(entry[0]).is_here):
                keys = [wanted[i][1] for i in places]
                answers.ask(
                    self._task(name), "take", self._master.number, self._running.step, keys,
                    took=functools.partial(took, places),
                )  # fmt: skip
            answers.wait()
        except BaseException as raised:
            error = self._running.why(raised) if isinstance(raised, errors.CancelledError) else raised
            found_error = plan.failure(self._running, error)
            raise found_error from found_error.__cause__
        return [self._convert[place](value) for place, value in zip(fetches, found, strict=False)]

    def end(self) -> None:
        """What waits is withdrawn, everywhere."""
        self._running.stop(errors.CancelledError(None, None, "The partial run was ended."))

    def _task(self, name: str) -> Task:
        return self._master.tasks[name]
