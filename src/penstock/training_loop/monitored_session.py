"""Sessions that initialise, recover, save, and call hooks (TF: tf.train.MonitoredSession)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self

from penstock import errors
from penstock.export import export
from penstock.graph.scopes import GraphKeys, get_collection, get_default_graph
from penstock.train.coordinator import Coordinator
from penstock.train.queue_runner import start_queue_runners
from penstock.train.session_run_hook import SessionRunHook
from penstock.training_loop.hooks import StepCounterHook
from penstock.training_loop.saving_hooks import CheckpointSaverHook, SummarySaverHook
from penstock.training_loop.scaffold import Scaffold
from penstock.training_loop.session_creators import ChiefSessionCreator, SessionCreator, WorkerSessionCreator
from penstock.training_loop.wrapped_sessions import (
    StepContext,
    _CoordinatedSession,
    _HookedSession,
    _RecoverableSession,
)

USE_DEFAULT = object()


class _CoordinatedSessionCreator(SessionCreator):
    """Makes sessions with a coordinator, queue runners and hooks."""

    def __init__(
        self, session_creator: SessionCreator, hooks: Sequence[SessionRunHook], stop_grace_period_secs: float
    ) -> None:
        self._session_creator, self._hooks = session_creator, hooks
        self._stop_grace_period_secs = stop_grace_period_secs
        self.coord: Coordinator | None = None
        self.tf_sess: Any = None

    def create_session(self) -> _CoordinatedSession:
        self.tf_sess = self._session_creator.create_session()
        self.coord = Coordinator(clean_stop_exception_types=[])  # an end of input is also to be raised
        if get_collection(GraphKeys.QUEUE_RUNNERS):
            start_queue_runners(sess=self.tf_sess, coord=self.coord)
        for hook in self._hooks:
            hook.after_create_session(self.tf_sess, self.coord)
        return _CoordinatedSession(_HookedSession(self.tf_sess, self._hooks), self.coord, self._stop_grace_period_secs)


class _MonitoredSession:
    """What `MonitoredSession` and `SingularMonitoredSession` share."""

    StepContext = StepContext

    def __init__(
        self,
        session_creator: SessionCreator | None,
        hooks: Iterable[SessionRunHook] | None,
        should_recover: bool,
        stop_grace_period_secs: float = 120,
    ) -> None:
        self._graph_was_finalized = get_default_graph().finalized
        self._hooks = list(hooks or [])
        for hook in self._hooks:
            hook.begin()
        self._coordinated_creator = _CoordinatedSessionCreator(
            session_creator or ChiefSessionCreator(), self._hooks, stop_grace_period_secs
        )
        if should_recover:
            self._sess: Any = _RecoverableSession(self._coordinated_creator)
        else:
            self._sess = self._coordinated_creator.create_session()

    @property
    def graph(self) -> Any:
        """The graph; None after `close`."""
        session = self._tf_sess()
        return None if session is None else session.graph

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """`tf.Session.run`, with hooks."""
        return self._sess.run(fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata)

    def run_step_fn(self, step_fn: Callable[[Any], Any]) -> Any:
        """Call `step_fn(step_context)`, which can run steps with hooks and without, and end the loop; returns what it
        returns.

        A lost session is made anew and the function called again. ValueError for a function with other arguments.
        """
        arguments = tuple(inspect.signature(step_fn).parameters)
        if arguments not in (("step_context",), ("self", "step_context")):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and `step_context` arguments if it's "
                f"an instance method. Got {arguments} instead."
            )
        return self._sess.run_step_fn(step_fn)

    def should_stop(self) -> bool:
        """Whether the loop ends: a hook or thread wants it, or the session is closed."""
        return self._sess is None or self._sess.should_stop()

    def close(self) -> None:
        """Call the hooks' `end`, stop the threads, close the session. Raises what failed in a thread."""
        self._close_internal()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        ended = kind is None or kind in (errors.OutOfRangeError, StopIteration)
        self._close_internal(failed=not ended)
        return ended

    def _close_internal(self, failed: bool = False) -> None:
        try:
            if not failed:
                for hook in self._hooks:
                    hook.end(self._coordinated_creator.tf_sess)
        finally:
            try:
                if self._sess is None:
                    raise RuntimeError("Session is already closed.")
                self._sess.close()
            finally:
                self._sess = None
                self._coordinated_creator.tf_sess = None
                self._coordinated_creator.coord = None
                if not self._graph_was_finalized:
                    get_default_graph()._unsafe_unfinalize()

    def _tf_sess(self) -> Any:
        return self._coordinated_creator.tf_sess


@export("train.MonitoredSession")
class MonitoredSession(_MonitoredSession):
    """A session for a loop of steps: `with tf.train.MonitoredSession(…) as sess: while not sess.should_stop(): …`.

    At the start it calls the hooks' `begin`, makes the graph read-only, creates a session (`session_creator`, by
    default a ChiefSessionCreator), starts queue runners and calls `after_create_session`. AbortedError or
    UnavailableError in a step mean that the session was lost: it is made anew, and the step runs again. OutOfRangeError
    and StopIteration end the `with` block without an error.
    """

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Iterable[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        """`stop_grace_period_secs`: how long threads may take to end."""
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


@export("train.SingularMonitoredSession")
class SingularMonitoredSession(_MonitoredSession):
    """A MonitoredSession that does not recover, and gives access to the session itself."""

    def __init__(
        self,
        hooks: Iterable[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: Any = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """The session itself, to save, restore, and run without hooks."""
        return self._tf_sess()


@export("train.MonitoredTrainingSession")
def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: Any = None,
    scaffold: Scaffold | None = None,
    hooks: Iterable[SessionRunHook] | None = None,
    chief_only_hooks: Iterable[SessionRunHook] | None = None,
    save_checkpoint_secs: Any = USE_DEFAULT,
    save_summaries_steps: Any = USE_DEFAULT,
    save_summaries_secs: Any = USE_DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = USE_DEFAULT,
    summary_dir: Any = None,
    save_graph_def: bool = True,
) -> MonitoredSession:
    """A MonitoredSession for training, with the usual hooks (TF: tf.train.MonitoredTrainingSession).

    A chief continues from the latest checkpoint in `checkpoint_dir`, saves there every `save_checkpoint_secs` (600 by
    default) or `save_checkpoint_steps`, and writes summaries (every 100 steps by default) and steps per second (every
    `log_step_count_steps`) to `summary_dir`, by default the same. None or 0 for never. Others wait for the chief, at
    most `max_wait_secs`. For a progress bar, add a `tf.train.ProgressHook` to `hooks`.
    """
    summaries = _seconds_or_steps(save_summaries_secs, save_summaries_steps, default=(None, 100))
    checkpoints = _seconds_or_steps(save_checkpoint_secs, save_checkpoint_steps, default=(600, None))
    scaffold = scaffold or Scaffold()
    if not is_chief:
        worker = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(worker, hooks, stop_grace_period_secs)
    all_hooks: list[SessionRunHook] = list(chief_only_hooks or [])
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir and log_step_count_steps and log_step_count_steps > 0:
        all_hooks.append(StepCounterHook(every_n_steps=log_step_count_steps, output_dir=summary_dir))
    if summary_dir and summaries:
        all_hooks.append(SummarySaverHook(scaffold=scaffold, output_dir=summary_dir, **summaries))
    if checkpoint_dir and checkpoints:
        all_hooks.append(
            CheckpointSaverHook(checkpoint_dir, scaffold=scaffold, save_graph_def=save_graph_def, **checkpoints)
        )
    all_hooks += hooks or []
    chief = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(chief, all_hooks, stop_grace_period_secs)


def _seconds_or_steps(seconds: Any, steps: Any, default: tuple[Any, Any]) -> dict[str, Any]:
    """The arguments of a saving hook; {} for never. What is given alone disables the other's default."""
    if seconds is USE_DEFAULT and steps is USE_DEFAULT:
        seconds, steps = default
    given = {"save_secs": seconds, "save_steps": steps}
    return {name: value for name, value in given.items() if value is not USE_DEFAULT and value and value > 0}
