"""`QueueRunner`: threads that fill a queue while others take from it (TF: tf.train.QueueRunner)."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Iterable
from typing import Any

from penstock import errors
from penstock.client.variable import in_scope, without_scope
from penstock.export import export
from penstock.graph.default_session import get_default_session
from penstock.graph.scopes import GraphKeys, add_to_collection, get_default_graph
from penstock.runtime.deadlock import watching
from penstock.session.session import BaseSession
from penstock.tensor.messages import add_message, message_classes, new_file
from penstock.train.coordinator import Coordinator

_LOG = logging.getLogger(__name__)
_LOOK_AGAIN = 1.0
"""Seconds after which a thread that waits for its coordinator checks whether the session is still open."""

_FILE = new_file("penstock/queue_runner.proto", "tensorflow")
add_message(
    _FILE,
    "QueueRunnerDef",
    "string queue_name",
    "repeated string enqueue_op_name",
    "string close_op_name",
    "string cancel_op_name",
    "repeated int64 queue_closed_exception_types",  # an enum, which has the same bytes
)
QueueRunnerDef: Any = message_classes(_FILE)["tensorflow.QueueRunnerDef"]


@export("train.QueueRunner")
class QueueRunner:
    """A queue, the ops that fill it, each in its own thread, and those that close it."""

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Any = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: tuple[type[errors.OpError], ...] | None = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        """`enqueue_ops`: each gets a thread; repeat one for several threads.

        close_op: closes the queue at the end of input; cancel_op: also cancels waiting enqueues; by default the
        queue's. queue_closed_exception_types: errors that mark the end of input in an enqueue op; by default
        OutOfRangeError.
        """
        self._lock = threading.Lock()
        self._runs_per_session: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._exceptions_raised: list[Exception] = []
        if queue_runner_def is not None:
            if queue is not None or enqueue_ops is not None:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._read(queue_runner_def, import_scope)
            return
        if queue is None or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        closed = queue_closed_exception_types
        if closed is not None and not _are_errors(closed):
            raise TypeError(
                f"queue_closed_exception_types, when provided, must be a tuple of tf.error types, but saw: {closed}"
            )
        self._queue = queue
        self._enqueue_ops = list(enqueue_ops)
        self._close_op = queue.close() if close_op is None else close_op
        self._cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        self._queue_closed_exception_types = closed or (errors.OutOfRangeError,)

    @property
    def queue(self) -> Any:
        return self._queue

    @property
    def enqueue_ops(self) -> list[Any]:
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[errors.OpError], ...]:
        return self._queue_closed_exception_types

    @property
    def exceptions_raised(self) -> list[Exception]:
        """The exceptions of threads without a coordinator. (With one, they are reported to it instead.)"""
        return self._exceptions_raised

    @property
    def name(self) -> str:
        """The name of the queue."""
        return str(self._queue.name)

    # --- threads ----------------------------------------------------------------------------------------

    def create_threads(
        self, sess: Any, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """A thread for each enqueue op, and with a coordinator one more that closes the queue when it stops.

        Returns none while earlier ones for this session still run. Unless `start`, the caller starts them.
        """
        with self._lock:
            if self._runs_per_session.get(sess, 0) > 0:
                return []
            self._runs_per_session[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        threads = [self._thread(op.name, self._run, sess, op, coord) for op in self._enqueue_ops]
        if coord is not None:
            threads.append(self._thread("close_on_stop", self._close_on_stop, sess, coord))
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            thread.daemon = daemon
            if start:
                thread.start()
        return threads

    def _thread(self, what: str, target: Any, *args: Any) -> threading.Thread:
        return threading.Thread(target=target, args=args, name=f"QueueRunnerThread-{self.name}-{what}")

    def _run(self, sess: Any, enqueue_op: Any, coord: Coordinator | None) -> None:
        """Enqueue until the queue or its source is closed, the coordinator stops, or something fails.

        The last of a session's threads to reach the end of input closes the queue.
        """
        exhausted = False
        try:
            enqueue = sess.make_callable(enqueue_op)
            while coord is None or not coord.should_stop():
                enqueue()
        except self._queue_closed_exception_types:
            exhausted = True
        except Exception as error:
            self._report(error, sess, coord)
        finally:
            with self._lock:
                self._runs_per_session[sess] -= 1
                if exhausted and not self._runs_per_session[sess]:
                    _run_quietly(sess, self._close_op)

    def _report(self, error: Exception, sess: Any, coord: Coordinator | None) -> None:
        expected = getattr(sess, "_closed", False)  # closing a session ends its runners
        if coord is not None and not coord.joined:  # it could not be reported later
            coord.request_stop(None if expected else error)
            return
        _LOG.log(logging.DEBUG if expected else logging.ERROR, "Exception in QueueRunner: %s", error)
        with self._lock:
            self._exceptions_raised.append(error)

    def _close_on_stop(self, sess: Any, coord: Coordinator) -> None:
        with watching(coord.should_stop):
            while not coord.wait_for_stop(_LOOK_AGAIN):
                if getattr(sess, "_closed", False):
                    return
        if sess.sess_str and _is_lost(coord):
            # The queue outlives the session: closed, it would be of no use to the next one. What waits in it is woken,
            # too.
            sess.close()
        else:
            _run_quietly(sess, self._cancel_op)

    # --- messages ---------------------------------------------------------------------------------------

    def to_proto(self, export_scope: str | None = None) -> Any:
        """This as a QueueRunnerDef; None if the queue is not in `export_scope`."""
        if export_scope is not None and not self.name.startswith(export_scope):
            return None
        return QueueRunnerDef(
            queue_name=without_scope(self.name, export_scope),
            enqueue_op_name=[without_scope(op.name, export_scope) for op in self._enqueue_ops],
            close_op_name=without_scope(self._close_op.name, export_scope),
            cancel_op_name=without_scope(self._cancel_op.name, export_scope),
            queue_closed_exception_types=[kind.code for kind in self._queue_closed_exception_types],
        )

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> QueueRunner:
        """The runner that a QueueRunnerDef describes, of ops of the default graph."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)

    def _read(self, definition: Any, scope: str | None) -> None:
        if not hasattr(definition, "enqueue_op_name"):
            raise TypeError(f"queue_runner_def must be a QueueRunnerDef, but got {type(definition).__name__}")

        def element(name: str) -> Any:
            return get_default_graph().as_graph_element(in_scope(name, scope))

        self._queue = element(definition.queue_name)
        self._enqueue_ops = [element(name) for name in definition.enqueue_op_name]
        self._close_op, self._cancel_op = element(definition.close_op_name), element(definition.cancel_op_name)
        codes = definition.queue_closed_exception_types
        self._queue_closed_exception_types = tuple(map(errors.exception_type_from_error_code, codes)) or (
            errors.OutOfRangeError,
        )


def _are_errors(types: Any) -> bool:
    return isinstance(types, tuple) and bool(types) and all(issubclass(kind, errors.OpError) for kind in types)


def _is_lost(coord: Coordinator) -> bool:
    """Whether what a thread reported is that a task of the session is gone."""
    try:
        coord.raise_requested_exception()
    except (errors.AbortedError, errors.UnavailableError):
        return True
    except Exception:
        return False
    return False


def _run_quietly(sess: Any, op: Any) -> None:
    """Runs an op that closes a queue; the session or the queue may already be closed."""
    try:
        sess.run(op)
    except Exception as error:
        _LOG.debug("Ignored exception: %s", error)


@export("train.add_queue_runner")
def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Add a runner to those that `start_queue_runners` starts."""
    add_to_collection(collection, qr)


_HAVE_RUNNERS = ("MonitoredSession", "SingularMonitoredSession")
"""Sessions that have started the runners when they were made."""


@export("train.start_queue_runners")
def start_queue_runners(
    sess: Any = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Start the threads of all queue runners of the graph of `sess` (by default the default session); returns them.

    A monitored session has started them already: nothing is done, as in TensorFlow. ValueError without a session.
    """
    sess = get_default_session() if sess is None else sess
    if sess is None:
        raise ValueError(
            "Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or pass an "
            "explicit session to tf.start_queue_runners(sess=sess)"
        )
    if not isinstance(sess, BaseSession):
        if type(sess).__name__ in _HAVE_RUNNERS:
            return []
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    runners: Iterable[QueueRunner] = sess.graph.get_collection(collection)
    if not runners:
        _LOG.warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined: nothing to start."
        )
    threads: list[threading.Thread] = []
    for runner in runners:
        threads += runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
    return threads
