"""`Supervisor`: a session with checkpoints and summaries that threads write (TF: tf.train.Supervisor)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tensorboard.compat.proto.event_pb2 import SessionLog

from penstock import logging
from penstock.client.lookup_tables import tables_initializer
from penstock.client.variables import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from penstock.export import export
from penstock.graph.graph import Graph
from penstock.graph.scopes import GraphKeys, get_default_graph
from penstock.ops.basic import group
from penstock.session.session import Session
from penstock.summary.functions import merge_all
from penstock.summary.writer import FileWriter
from penstock.train.coordinator import Coordinator, LooperThread
from penstock.train.global_step import global_step as value_of_global_step
from penstock.train.meta_graph import create_meta_graph_def, write_graph
from penstock.train.saver import Saver
from penstock.training_loop.session_manager import SessionManager, close_quietly
from penstock.training_loop.supervisor_threads import (
    SVStepCounterThread as SVStepCounterThread,
    SVSummaryThread as SVSummaryThread,
    SVTimerCheckpointThread as SVTimerCheckpointThread,
)


@export("train.Supervisor")
class Supervisor:
    """Opens a session whose variables are restored or initialised, and starts threads: queue runners, and those that
    write checkpoints, summaries and the number of steps per second to `logdir`. They stop together.

    `with sv.managed_session() as sess:` a program trains `while not sv.should_stop()`. TF: tf.train.Supervisor.
    """

    USE_DEFAULT = 0
    """For arguments: what the graph's collection for it has, or otherwise what is described below."""

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: Any = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: Any = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable[[Any], Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:
        """Adds to `graph`, by default the default graph, what is missing, and finalises it.

        The chief initialises and restores, and writes to `logdir`; others wait until it has. Defaults: `init_op`
        initialises all global variables, `local_init_op` local variables and tables, `ready_op` reports variables
        without values, `summary_op` merges all summaries, `saver` saves all variables, `global_step` is the tensor
        "global_step:0". None for an op, `saver` or `summary_writer`, or 0 seconds, disables what it is for.

        Raises ValueError if this is not the chief and a variable has no device.
        """
        self._graph = graph or get_default_graph()
        with self._graph.as_default():
            self._ready_op = self._given(ready_op, GraphKeys.READY_OP, report_uninitialized_variables)
            self._ready_for_local_init_op = self._given(ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP)
            self._init_op = self._given(init_op, GraphKeys.INIT_OP, global_variables_initializer)
            self._local_init_op = self._given(local_init_op, GraphKeys.LOCAL_INIT_OP, _initialize_local)
            self._saver = self._given(saver, GraphKeys.SAVERS, lambda: Saver() if global_variables() else None)
            self._summary_op = self._given(summary_op, GraphKeys.SUMMARY_OP, merge_all)
            self._global_step = self._given(global_step, GraphKeys.GLOBAL_STEP, _find_global_step)
        saver_def = self._saver.saver_def if self._saver else None
        self._meta_graph_def = create_meta_graph_def(self._graph, saver_def=saver_def)
        self._is_chief = is_chief
        self._coord = Coordinator()
        self._stop_grace_secs = stop_grace_secs
        self._init_feed_dict = init_feed_dict
        self._init_fn = init_fn
        self._logdir = os.fspath(logdir) if is_chief and logdir else None
        self._save_path = os.path.join(self._logdir, checkpoint_basename) if self._logdir else None
        self._save_summaries_secs = save_summaries_secs if is_chief else None
        self._save_model_secs = save_model_secs if is_chief else None
        if summary_writer is Supervisor.USE_DEFAULT:
            summary_writer = FileWriter(self._logdir) if self._logdir else None
        self._summary_writer = summary_writer if is_chief else None
        self._writer_is_open, self._graph_added_to_summary = True, False
        self._session_manager = session_manager or SessionManager(
            self._local_init_op, self._ready_op, self._ready_for_local_init_op, self._graph, recovery_wait_secs,
            local_init_run_options,
        )  # fmt: skip
        self._verify_setup()
        self._graph.finalize()

    def _given(self, given: Any, key: str, make: Callable[[], Any] | None = None) -> Any:
        """An argument; for USE_DEFAULT the first item of a collection, which `make` adds if there is none."""
        if given is not Supervisor.USE_DEFAULT:
            return given
        held = self._graph.get_collection(key)
        if len(held) > 1:
            logging.info("Found %d %s operations. Returning the first one.", len(held), key)
        if held or make is None:
            return held[0] if held else None
        made = make()
        if made is not None:
            self._graph.add_to_collection(key, made)
        return made

    def _verify_setup(self) -> None:
        if not self._is_chief:
            for op in self._graph.get_operations():
                if op.type in ("Variable", "VariableV2") and not op.device:
                    raise ValueError(f"When using replicas, all Variables must have their device set: {op}")

    # --- settings ---------------------------------------------------------------------------------------

    @property
    def is_chief(self) -> bool:
        return self._is_chief

    @property
    def session_manager(self) -> SessionManager:
        return self._session_manager

    @property
    def coord(self) -> Coordinator:
        """Stops the threads."""
        return self._coord

    @property
    def init_op(self) -> Any:
        return self._init_op

    @property
    def init_feed_dict(self) -> Any:
        return self._init_feed_dict

    @property
    def ready_op(self) -> Any:
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        return self._ready_for_local_init_op

    @property
    def summary_writer(self) -> Any:
        return self._summary_writer

    @property
    def summary_op(self) -> Any:
        return self._summary_op

    @property
    def save_summaries_secs(self) -> float | None:
        """None if this is not the chief."""
        return self._save_summaries_secs

    @property
    def global_step(self) -> Any:
        return self._global_step

    @property
    def saver(self) -> Any:
        return self._saver

    @property
    def save_model_secs(self) -> float | None:
        """None if this is not the chief."""
        return self._save_model_secs

    @property
    def save_path(self) -> str | None:
        """What the names of checkpoints begin with; None without a `logdir`."""
        return self._save_path

    # --- sessions ---------------------------------------------------------------------------------------

    @contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Session]:
        """A session as from `prepare_or_wait_for_session`, for a `with` block.

        After the block, or an error in it or in a thread, all threads are stopped, the session is closed, and the
        error is raised, except for OutOfRangeError: it means that the input has ended.
        """
        sess = None
        try:
            sess = self.prepare_or_wait_for_session(master, config, start_standard_services=start_standard_services)
            yield sess
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if sess is not None:
                    close_quietly(sess)

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Session:
        """The chief's session, restored or initialised; or another, once the chief has done that.

        start_standard_services: start its threads (the chief's), and the graph's queue runners.
        """
        self._coord.clear_stop()
        if self._summary_writer:
            self._summary_writer.reopen()
            self._writer_is_open = True
        if self._is_chief:
            sess = self._session_manager.prepare_session(
                master, self._init_op, self._saver, self._logdir, wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs, config=config, init_feed_dict=self._init_feed_dict, init_fn=self._init_fn,
            )  # fmt: skip
            self._write_graph()
            if start_standard_services:
                logging.info("Starting standard services.")
                self.start_standard_services(sess)
        else:
            sess = self._session_manager.wait_for_session(master, config=config, max_wait_secs=max_wait_secs)
        if start_standard_services:
            logging.info("Starting queue runners.")
            self.start_queue_runners(sess)
        return sess

    def _write_graph(self) -> None:
        if self._logdir:
            write_graph(self._graph.as_graph_def(add_shapes=True), self._logdir, "graph.pbtxt")
        if self._summary_writer and not self._graph_added_to_summary:
            self._summary_writer.add_graph(self._graph)
            self._summary_writer.add_meta_graph(self._meta_graph_def)
            self._graph_added_to_summary = True

    # --- threads ----------------------------------------------------------------------------------------

    def start_standard_services(self, sess: Any) -> list[LooperThread] | None:
        """Start the threads that write checkpoints, summaries and steps per second; None without a `logdir`.

        Raises RuntimeError if this is not the chief.
        """
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors can write events."
            )
        if not self._logdir:
            logging.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        if self._global_step is not None and self._summary_writer:
            log = SessionLog(status=SessionLog.START)
            self._summary_writer.add_session_log(log, value_of_global_step(sess, self._global_step))
        threads: list[LooperThread] = []
        if self._save_summaries_secs and self._summary_writer:
            if self._summary_op is not None:
                threads.append(SVSummaryThread(self, sess))
            if self._global_step is not None:
                threads.append(SVStepCounterThread(self, sess))
        if self._saver and self._save_model_secs:
            threads.append(SVTimerCheckpointThread(self, sess))
        for thread in threads:
            thread.start()
        return threads

    def start_queue_runners(self, sess: Any, queue_runners: Iterable[Any] | None = None) -> list[threading.Thread]:
        """Start the threads of queue runners, by default the graph's; returns them."""
        runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS) if queue_runners is None else queue_runners
        return [
            thread
            for runner in runners
            for thread in runner.create_threads(sess, coord=self._coord, daemon=True, start=True)
        ]

    def loop(
        self, timer_interval_secs: float | None, target: Callable[..., Any], args: Any = None, kwargs: Any = None
    ) -> LooperThread:
        """A running thread that calls `target` every `timer_interval_secs`, or without a pause, until all stop."""
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    def stop(
        self,
        threads: Iterable[threading.Thread] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stop all threads, these `threads` too, and raise the first error that one of them reported.

        Then close the summary writer; the session stays open. Raises RuntimeError for threads that have not ended
        after `stop_grace_secs`, unless `ignore_live_threads`.
        """
        self._coord.request_stop()
        try:
            self._coord.join(threads, self._stop_grace_secs, ignore_live_threads)
        finally:
            if close_summary_writer and self._summary_writer and self._writer_is_open:
                self._summary_writer.add_session_log(SessionLog(status=SessionLog.STOP))
                self._summary_writer.close()
                self._writer_is_open = self._graph_added_to_summary = False

    def request_stop(self, ex: Any = None) -> None:
        """Like `Coordinator.request_stop`."""
        self._coord.request_stop(ex)

    def should_stop(self) -> bool:
        return self._coord.should_stop()

    def stop_on_exception(self) -> AbstractContextManager[None]:
        """Like `Coordinator.stop_on_exception`."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Wait until a stop is requested."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess: Any, summary: Any, global_step: int | None = None) -> None:
        """Write a summary, by default for the current global step; RuntimeError without a summary writer."""
        if not self._summary_writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = value_of_global_step(sess, self._global_step)
        self._summary_writer.add_summary(summary, global_step)

    # TF 0.x's names
    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


def _initialize_local() -> Any:
    return group(local_variables_initializer(), tables_initializer())


def _find_global_step() -> Any:
    """The tensor "global_step:0", if it is an integer."""
    try:
        found = get_default_graph().get_tensor_by_name("global_step:0")
    except KeyError:
        return None
    if found.dtype.base_dtype.is_integer:
        return found
    logging.warning("Found 'global_step' is not an int type: %s", found.dtype)
    return None
