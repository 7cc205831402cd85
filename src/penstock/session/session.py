"""`Session`: runs any part of a graph, any number of times (white paper sections 2 and 4.2; TF: tf.Session)."""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, overload

import numpy as np
import torch
from tensorboard.compat.proto.config_pb2 import RunOptions

from penstock import errors
from penstock.checkpoint import background
from penstock.engine.border import TAKING
from penstock.engine.checked import CHECK_STEPS, checked
from penstock.engine.elements import WithElements, elements_of
from penstock.engine.freezing import freezing, has_packed
from penstock.engine.partitioned import make_step_plan
from penstock.engine.pipeline import ON_PARTS, prepare
from penstock.engine.plan import Plan, make_plan
from penstock.engine.planned_function import function_planner, on_first_cpu
from penstock.engine.specialised import SpecialisedPlan, is_open, plan_bytes
from penstock.explain.difference import Difference
from penstock.explain.explanation import Explanation
from penstock.explain.step import explained
from penstock.export import export
from penstock.graph.default_stacks import default_graphs, default_sessions
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import get_default_graph
from penstock.ops.session_tensors import KeptTensors, kept_tensors
from penstock.passes.prune import prune
from penstock.placement.configure import placement_options
from penstock.placement.hardware import Hardware
from penstock.placement.place import Placement
from penstock.runtime import recording
from penstock.runtime.at_exit import park, stop_at_exit
from penstock.runtime.collection import no_collection
from penstock.runtime.denormals import flushing
from penstock.runtime.failures import planning_errors
from penstock.runtime.kernels import SessionState
from penstock.runtime.observer import Observer
from penstock.runtime.recording import Recording, StepTrace
from penstock.runtime.resources import resources_of
from penstock.session.cluster import master_of, reset_target
from penstock.session.debug_dumps import run_dumped
from penstock.session.feeds import AnyPlan, Rearranged, feeds_of
from penstock.session.fetches import FetchPlan, Unpack, signature
from penstock.session.metadata import record_costs, record_step
from penstock.session.options import flushes_denormals, function_threads, place_state, slow_threads, step_options
from penstock.session.page import session_page
from penstock.session.partial import PartialRun
from penstock.session.partition_graphs import partition_graphs
from penstock.session.passes_text import passes_text

PLAN_MEMORY = 512 << 20
"""The most bytes of plans, by `plan_bytes`. A program has a handful of them, or some hundred recurring fetches; one
that makes new fetches in a loop must not grow without bound."""

Runner = tuple[AnyPlan | Rearranged, Unpack]


def _closed_error() -> RuntimeError:
    park()
    return RuntimeError("Attempted to use a closed Session.")


class BaseSession:
    """What `Session` and `InteractiveSession` share."""

    _is_finalizing = staticmethod(sys.is_finalizing)  # a global is None by the time that it is asked

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        """`target` "" is a session by itself; sessions with the same "inproc://NAME" target share their state. Others
        name a task of a cluster ("grpc://host:port", `Server.target`), whose tasks run the session's steps.

        `config` (a ConfigProto) sets the session's devices, placement, passes, treatment of denormals (see options.py)
        and timeout; `intra_op_parallelism_threads` sets the number of threads of PyTorch's kernels for the whole
        process, and `inter_op_parallelism_threads` how many of the program's own functions, and of the slow nodes of a
        step, run at once.
        """
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph).__name__}")
        if config is not None and not hasattr(config, "allow_soft_placement"):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config).__name__}")
        if isinstance(target, bytes):
            target = target.decode()
        self._graph = graph or get_default_graph()
        self._target = target
        self._lock = threading.Lock()
        self._flushes = flushes_denormals(config)
        self._master = master_of(target, config)
        self._state = SessionState(resources_of(target if self._master is None else ""))
        self._state.function_threads = function_threads(config)
        self._state.slow_threads = slow_threads(config)
        self._options = step_options(config, self._master)
        self._state.deterministic = self._options.deterministic
        self._placement = Placement()
        if self._master is not None:
            self._master.open(self._options, self._flushes)
            self._state.keep(KeptTensors, self._master.kept_tensors)
            self._options = replace(self._options, passes=frozenset(self._options.passes) - ON_PARTS)
        state = self._state
        state.plan_function = function_planner(state.resources, state.closing, self._options, self._flushes)
        self._cost_file = placement_options(config).cost_model
        self._cost_interval = 0 if config is None else max(0, int(config.graph_options.build_cost_model))
        self._traces_left = self._cost_interval
        self._steps_observed = 0
        self._infers_shapes = config is not None and config.graph_options.infer_shapes
        self._timeout = 0 if config is None else int(config.operation_timeout_in_ms)
        self._is_plain = not self._timeout and not self._traces_left
        """Whether steps are not observed unless somebody asks for it."""
        if config is not None and config.intra_op_parallelism_threads > 0:
            torch.set_num_threads(config.intra_op_parallelism_threads)
        self._runners: dict[Any, Runner] = {}
        self._look_again = 64
        self._mutations = self._graph.mutations
        self._partial: dict[str, PartialRun] = {}
        self._partial_count = 0
        self._closed = False
        stop_at_exit(self)

    @property
    def graph(self) -> Graph:
        return self._graph

    @property
    def graph_def(self) -> Any:
        return self._graph.as_graph_def(add_shapes=self._infers_shapes)

    @property
    def sess_str(self) -> str:
        return self._target

    # --- running ----------------------------------------------------------------------------------------

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Run what `fetches` need, with the edges in `feed_dict` replaced by values, and return their values.

        `fetches`: a tensor, an operation (returns None), a name, or any nest of lists, tuples, dicts and named tuples
        of them; the result has the same structure, with NumPy arrays. Fetched values never change afterwards.
        `options`: a RunOptions (`timeout_in_ms`, `trace_level`, `output_partition_graphs`); `run_metadata` receives
        the trace: the times of what ran, which compiled code is one of; with HARDWARE_TRACE also of its parts, once it
        has been compiled again with clocks in it, and with FULL_TRACE also what each node allocated, which makes the
        times of small nodes longer.

        Raises RuntimeError if the session is closed, ValueError or TypeError for an invalid fetch or feed, and a
        subclass of `errors.OpError` for failures in a node, naming it and the line that built it. The session stays
        usable after any of them. White paper section 4.2; TF: tf.Session.run.
        """
        if options is not None and options.debug_options.debug_tensor_watch_opts:
            return run_dumped(self, fetches, feed_dict, options)
        if recording.active is not None and recording.active.wants_step():
            return self._run_recorded(None, fetches, feed_dict, options, run_metadata)
        plan, unpack = self._runner(fetches, feed_dict)
        values: Any = feed_dict.values() if feed_dict else ()
        if options is None and run_metadata is None and self._is_plain:
            return unpack(plan.run(values))
        self._traces_left = max(0, self._traces_left - 1)
        self._is_plain = not self._timeout and not self._traces_left
        return unpack(self._run_observed(plan, values, options, run_metadata))

    def _runner(self, fetches: Any, feed_dict: Any) -> Runner:
        """The plan for a signature, cached: a step pays for one look-up."""
        if self._closed:
            raise _closed_error()
        if self._mutations != self._graph.mutations:
            self._forget_plans()
        try:
            return self._runners[signature(fetches), tuple(feed_dict) if feed_dict else ()]
        except (KeyError, TypeError):
            pass  # new, or not something that can be fetched or fed: the error is raised below
        if feed_dict is not None and not hasattr(feed_dict, "values"):
            raise TypeError(f"feed_dict must be a dict from tensors to values, not {type(feed_dict).__name__}")
        return self._new_runner(fetches, feed_dict)

    def _new_runner(self, fetches: Any, feed_dict: Any) -> Runner:
        runner = self._make_runner(fetches, feed_dict or {})
        with self._lock:
            self._runners[signature(fetches), tuple(feed_dict or ())] = runner
            if len(self._runners) >= self._look_again:
                self._forget_oldest()
        return runner

    def _forget_oldest(self) -> None:
        """Keep to PLAN_MEMORY. The total is recomputed when the number of plans has grown by a quarter."""
        sizes = {key: plan_bytes(plan) for key, (plan, _) in self._runners.items()}
        over = sum(sizes.values()) - PLAN_MEMORY
        for key, size in sizes.items():
            if over <= 0:
                break
            del self._runners[key]
            over -= size
        self._look_again = max(64, len(self._runners) * 5 // 4)

    def _make_runner(self, fetches: Any, keys: Iterable[Any]) -> Runner:
        if not self._graph.version:
            raise RuntimeError("The Session graph is empty.  Add operations to the graph before calling run().")
        wanted = FetchPlan(self._graph, fetches, kept_tensors(self._state))
        feeds, arrange = feeds_of(self._graph, keys)
        plan = self._make_step(feeds, wanted.tensors, wanted.targets)
        return (Rearranged(plan, arrange) if arrange else plan, wanted.unpack)

    def _make_step(self, feeds: list[Tensor], fetches: list[Tensor], targets: list[Operation]) -> AnyPlan:
        may_take = self._graph.takes_elements and "infer_shapes" in self._options.passes and self._master is None
        taken = elements_of(feeds, fetches, targets) if may_take else []
        if not taken:
            return self._make_plan(feeds, fetches, targets)
        options = on_first_cpu(self._options)
        with planning_errors():
            prepared = prepare(feeds, taken, [], options)
            first = make_plan(prepared.graph, self._state, options.devices[0], TAKING)
        first.passed = prepared.passed
        return WithElements(first, self._make_plan([*feeds, *taken], fetches, targets), taken)

    def _make_plan(self, feeds: list[Tensor], fetches: list[Tensor], targets: list[Operation]) -> AnyPlan:
        if not is_open(feeds) or "infer_shapes" not in self._options.passes:
            return self._plan_for((), feeds, fetches, targets)
        here = weakref.ref(self)  # an unreferenced session is freed at once, with its variables

        def make(fed: Sequence[tuple[int, ...]]) -> Plan:
            session = here()
            assert session is not None, "a plan runs in a session that is there"
            return session._plan_for(fed, feeds, fetches, targets)

        return SpecialisedPlan(feeds, make)

    def _plan_for(
        self, fed: Sequence[tuple[int, ...]], feeds: list[Tensor], fetches: list[Tensor], targets: list[Operation]
    ) -> Plan:
        """A plan for feeds of the shapes `fed`; if that is empty, for any that fit. Its errors are typed."""
        here = weakref.ref(self)

        def make(values: Mapping[str, Any]) -> Plan | None:
            session = here()
            assert session is not None, "a plan runs in a session that is there"
            with no_collection(), planning_errors(), session._placement.lock:
                passes = flushing(prepare) if session._flushes else prepare
                prepared = passes(feeds, fetches, targets, session._options, fed, session._placement, False, values)
                if not has_packed(prepared.graph):
                    return None
                plan = make_step_plan(prepared.graph, session._state, session._options)
            plan.passed = prepared.passed
            return plan

        with no_collection(), planning_errors():
            if self._master is not None:
                self._master.wait_for_links()
            with self._placement.lock:
                place_state(self._graph, self._options, self._placement)
                passes = flushing(prepare) if self._flushes else prepare  # which compute constants
                prepared = passes(feeds, fetches, targets, self._options, fed, self._placement)
                self._placement.keep(prepared.graph)
            if self._master is None:
                plan = make_step_plan(prepared.graph, self._state, self._options)
                plan.passed = prepared.passed
                if not self._options.deterministic:  # two plans round differently
                    plan = freezing(plan, prepared.freezable, self._state, make)
            else:
                plan = self._master.make_plan(prepared.graph, self._options, self._graph)
                plan.passed = prepared.passed
                return plan
        if self._flushes:
            plan.run, plan.run_observed = flushing(plan.run), flushing(plan.run_observed)  # type: ignore[method-assign]
        if CHECK_STEPS:
            plan = checked(plan, prune(feeds, fetches, targets), self._state)
        plan.passed = prepared.passed
        return plan

    def _forget_plans(self) -> None:
        with self._lock:
            self._mutations = self._graph.mutations
            self._runners.clear()

    def _run_observed(
        self, plan: AnyPlan | Rearranged, values: Any, options: Any, run_metadata: Any
    ) -> tuple[Any, ...]:
        observer = self._observer(options)
        found = plan.run_observed(values, observer)
        self._note_observed(plan, observer, options, run_metadata)
        return found

    def _run_recorded(
        self, runner: Runner | None, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any
    ) -> Any:
        """`run` of a step that is recorded, with the runner if that is known."""
        recorder, thread, begin = recording.active, threading.current_thread().name, time.time_ns()
        assert recorder is not None
        plan, unpack = runner or self._runner(fetches, feed_dict)
        observer = self._observer(options, recorder)
        planned = time.time_ns()
        found = plan.run_observed(feed_dict.values() if feed_dict else (), observer)
        ran = time.time_ns()
        result = unpack(found)
        device = self._options.devices[0].name
        recorder.take(StepTrace(plan.graph, device, observer, thread, begin, planned, ran, time.time_ns()))
        self._note_observed(plan, observer, options, run_metadata)
        return result

    def _observer(self, options: Any, recorder: Recording | None = None) -> Observer:
        """For one step. Compiled code runs as a whole where the step is traced; it cannot be stopped."""
        timeout = (options.timeout_in_ms if options is not None else 0) or self._timeout
        trace = options.trace_level if options is not None else 0
        whole = recorder is not None or trace > 0 or (self._traces_left > 0 and not timeout)
        by_value = trace == RunOptions.FULL_TRACE
        memory = by_value or (recorder is not None and recorder.memory)
        members = trace == RunOptions.HARDWARE_TRACE or (recorder is not None and recorder.members)
        return Observer(timeout, self._state.closing, memory, whole, members, by_value)

    def _note_observed(self, plan: AnyPlan | Rearranged, observer: Observer, options: Any, run_metadata: Any) -> None:
        """What an observed step teaches the cost model, and its metadata."""
        traced = options is not None and options.trace_level > 0
        self._steps_observed += 1
        if traced or self._traces_left > 0:
            record_costs(self._options.costs, plan.graph, observer)
        if run_metadata is not None:
            record_step(run_metadata, plan.graph, observer, traced)
            if options is not None and options.output_partition_graphs:
                graphs = observer.graphs or {self._options.devices[0].name: plan.graph}
                run_metadata.partition_graphs.extend(partition_graphs(graphs))
            if self._cost_interval and self._steps_observed % self._cost_interval == 0:
                speeds = {device.name: device for device in Hardware.of(list(self._options.devices)).devices}
                run_metadata.cost_graph.CopyFrom(self._options.costs.cost_graph(plan.graph, speeds))

    def make_callable(
        self, fetches: Any, feed_list: list[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """A function of the values for `feed_list` that runs `fetches`: the fastest way to repeat a step."""
        keys = list(feed_list or [])
        plan, unpack = self._make_runner(fetches, keys) if keys else self._runner(fetches, None)

        def call(*values: Any, options: Any = None, run_metadata: Any = None) -> Any:
            if self._closed:
                raise _closed_error()
            if len(values) != len(keys):
                raise ValueError(f"The callable takes {len(keys)} values, one for each of feed_list; got {len(values)}")
            if recording.active is not None and recording.active.wants_step():
                feeds = dict(enumerate(values))
                return self._run_recorded((plan, unpack), None, feeds, options, run_metadata)
            if options is None and run_metadata is None:
                return unpack(plan.run(values))
            return unpack(self._run_observed(plan, values, options, run_metadata))

        return call

    @overload
    def explain(self, fetches: Any, feeds: Any = (), *, full: bool = False, diff: None = None) -> Explanation: ...

    @overload
    def explain(self, fetches: Any, feeds: Any = (), *, full: bool = False, diff: Any) -> Difference: ...

    @overload
    def explain(self, fetches: Any, feeds: Any = (), *, graph: bool | str) -> str: ...

    def explain(
        self, fetches: Any, feeds: Any = (), graph: bool | str = False, full: bool = False, diff: Any = None
    ) -> str:
        """What a step for these fetches and feeds runs, and why: an `Explanation`, which is a text to print.

        `feeds`: the fed tensors, or a dict from them to values. If the shapes of feeds are unknown, plans depend on the
        fed shapes (engine/specialised.py); this is the one for such values, or without values the one that ran last, or
        before the first step the general one.

        It begins with the number of nodes after pruning, and before and after each pass that changed it, and the peak
        memory of values, the memory of variables, and whether several threads are used. Then come sections: what was
        pruned, computed before the step, merged, removed and fused, what was not and why; placement, transfers,
        predicted times and the critical path; what the peak of memory consists of. Last is what runs, line by line,
        beside the lines of the program. Notebooks show the same as a page; `to_dot()` and `to_svg()` are its picture.

        full: everything, where otherwise the most important rows are shown and nodes counted by name scope.
        diff: a ConfigProto, or a pair of them (or None for the defaults): what it changes, compared with this session's
        configuration or between the two, as a `Difference`.
        graph: True for the graph instead, after pruning and after each pass that changed it, one line per node; the
        name of a pass (such as "place") for the graph after that pass.
        """
        if graph:
            return self._explain_graph(fetches, feeds, graph)
        if diff is not None:
            configs = diff if isinstance(diff, tuple | list) else (diff,)
            threads = torch.get_num_threads()  # which a configuration may change
            made = []
            for config in configs:
                with closing(BaseSession(self._target, self._graph, config)) as other:
                    made.append(other.explain(fetches, feeds))
            torch.set_num_threads(threads)
            before, after = made if len(made) == 2 else (self.explain(fetches, feeds), *made)
            return Difference.between(before, after, full)
        given = isinstance(feeds, Mapping) and not any(value is None for value in feeds.values())
        plan = self._runner(fetches, dict.fromkeys(feeds))[0]
        if given and not isinstance(plan, Plan):
            plan = plan.choose(list(feeds.values()))
        plans, found = plan.shown(), FetchPlan(self._graph, fetches, kept_tensors(self._state))
        with no_collection(), planning_errors(), self._placement.lock:
            place_state(self._graph, self._options, self._placement)
            passes = flushing(explained) if self._flushes else explained
            step = passes(self._graph, plans, found.tensors, found.targets, self._options, self._placement)
            return Explanation.of(step, full)

    def _explain_graph(self, fetches: Any, feeds: Any, wanted: bool | str) -> str:
        found = FetchPlan(self._graph, fetches, kept_tensors(self._state))
        fed_tensors, arrange = feeds_of(self._graph, dict.fromkeys(feeds))
        shapes: list[tuple[int, ...]] = []
        if isinstance(feeds, Mapping) and not any(value is None for value in feeds.values()):
            values = list(feeds.values())
            shapes = [np.shape(value) for value in (arrange(values) if arrange else values)]
        with planning_errors(), self._placement.lock:
            place_state(self._graph, self._options, self._placement)
            return passes_text(
                fed_tensors, found.tensors, found.targets, self._options, self._placement, shapes, wanted
            )

    def _repr_html_(self) -> str:
        """For notebooks."""
        with self._lock:
            plans = [plan for plan, _ in self._runners.values()]
        return session_page(self._target, self._options.devices, plans, self._graph)

    # --- partial runs -----------------------------------------------------------------------------------

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> str:
        """Start a step that is run in parts; returns the handle for `partial_run`. TF: Session.partial_run_setup."""
        if self._closed:
            raise _closed_error()
        wanted = FetchPlan(self._graph, fetches, kept_tensors(self._state))
        fed, _ = feeds_of(self._graph, feeds or [])
        with self._lock:
            self._partial_count += 1
            handle = f"partial_run_{self._partial_count}"
            self._partial[handle] = PartialRun(
                self._graph, self._state, self._options, self._placement, wanted, fed, self._master
            )
        return handle

    def partial_run(self, handle: str, fetches: Any, feed_dict: Any = None) -> Any:
        """Continue a step: run what `fetches` still need, given these feeds and all earlier ones."""
        if self._closed:
            raise _closed_error()
        try:
            partial = self._partial[handle]
        except KeyError:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Must run 'partial_run_setup' before performing partial runs: no handle {handle!r}.",
            ) from None
        wanted = FetchPlan(self._graph, fetches, kept_tensors(self._state))
        feeds, arrange = feeds_of(self._graph, feed_dict or {})
        values = list((feed_dict or {}).values())
        try:
            return partial.run(wanted, feeds, arrange(values) if arrange else values)
        finally:
            if partial.done:
                self._partial.pop(handle, None)

    # --- life -------------------------------------------------------------------------------------------

    def list_devices(self) -> list[Any]:
        """The devices that this session can place nodes on."""
        return [device.attributes for device in self._options.devices]

    def close(self) -> None:
        """Release the session's resources.

        Steps that wait (for example for a queue), and those with a timeout or a trace, end with CancelledError. Waits
        for a checkpoint that is written in the background, and raises the error if that failed. Does nothing while the
        interpreter takes its modules down: a `__del__` of the program may call it then.
        """
        self._closed = True
        if self._is_finalizing():
            return
        self._state.closing.set()
        with self._lock:
            self._runners.clear()
            partial = list(self._partial.values())
            self._partial.clear()
        for each in partial:
            each.abandon()
        if self._cost_file and self._options.costs.measurements:
            self._options.costs.save(self._cost_file)
        if self._master is not None:
            self._master.close()
        if not self._target:
            self._state.resources.reset()
        background.finish(self)

    def stop_at_exit(self) -> None:
        """Begin no more steps: the process is ending."""
        self._closed = True

    @staticmethod
    def reset(target: str, containers: list[str] | None = None, config: Any = None) -> None:
        """Clear the state in the named containers of `target`, or in all (white paper section 4.7)."""
        if not target:
            raise errors.InvalidArgumentError(
                None, None, "Session.reset needs a target whose state sessions share, e.g. 'inproc://main'."
            )
        reset_target(target, containers, config)

    @contextmanager
    def as_default(self) -> Iterator[BaseSession]:
        """Make this the session for `Tensor.eval` and `Operation.run` in this thread. Does not close it."""
        default_sessions.stack.append(self)
        try:
            yield self
        finally:
            default_sessions.stack.remove(self)

    def __del__(self) -> None:
        # A dropped session frees its variables at once, not at the next garbage collection.
        if not getattr(self, "_closed", True):
            background.finish(self, raising=False)  # nobody could catch it
            self.close()


@export("Session")
class Session(BaseSession):
    """Runs a graph (TF: tf.Session). As a context manager it makes itself and its graph the defaults, and closes at the
    end."""

    _entered = False

    def __enter__(self) -> Session:
        if self._entered:
            raise RuntimeError(
                "Session context managers are not re-entrant; `Session.as_default()` may be entered several times."
            )
        self._entered = True
        default_graphs.stack.append(self.graph)
        default_sessions.stack.append(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        self._entered = False
        default_sessions.stack.remove(self)
        if default_graphs.stack.pop() is not self.graph:
            raise AssertionError("Nesting violated for default stack of Graph objects")
        if exc[0] is not None:
            background.finish(self, raising=False)  # it has been logged; the error that ends the block matters more
        self.close()


@export("InteractiveSession")
class InteractiveSession(BaseSession):
    """A session that is the default from its creation to its `close` (TF: tf.InteractiveSession)."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        self._explicit_graph = graph
        if graph is not None:
            default_graphs.stack.append(graph)
        default_sessions.stack.append(self)

    def close(self) -> None:
        super().close()
        if self in default_sessions.stack:
            default_sessions.stack.remove(self)
        if self._explicit_graph is not None and self._explicit_graph in default_graphs.stack:
            default_graphs.stack.remove(self._explicit_graph)
