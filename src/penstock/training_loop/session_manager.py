"""`SessionManager`: sessions whose variables are restored or initialised (TF: tf.train.SessionManager)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock import errors, logging
from penstock.checkpoint.state import get_checkpoint_state
from penstock.export import export
from penstock.graph.graph import Graph
from penstock.graph.scopes import get_default_graph
from penstock.session.session import Session
from penstock.train.saver import Saver

_FIRST_PAUSE_S = 0.2


@export("train.SessionManager")
class SessionManager:
    """Opens sessions for a graph: one that restores the latest checkpoint or initialises the variables
    (`prepare_session`), and others that wait until that is done (`wait_for_session`).

    TF: tf.train.SessionManager; white paper section 4.2, Variables.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        """`local_init_op` runs in each new session, after variables are restored or initialised.

        A session is ready, for use or for `local_init_op`, when `ready_op` or `ready_for_local_init_op` (None for no
        check) gives an empty tensor; otherwise it gives the names of what is missing. `recovery_wait_secs`: between
        two checks.
        """
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , "
                f"ready_for_local_init_op [{ready_for_local_init_op}]"
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = graph or get_default_graph()
        self._recovery_wait_secs = recovery_wait_secs
        self._local_init = {"feed_dict": local_init_feed_dict, "options": local_init_run_options}

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Saver | None = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Any], Any] | None = None,
    ) -> Session:
        """A session that `saver` has restored from a checkpoint (a given one, or the latest in a directory).

        Without a checkpoint, after `max_wait_secs` with `wait_for_checkpoint`, `init_op` and `init_fn(session)` run
        instead. Raises RuntimeError if there is nothing to run, or if the session is not ready after it.
        """
        sess, restored = self._restored(
            master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs, config
        )
        with _closed_if_failing(sess):
            if not restored:
                if init_op is None and not init_fn and self._local_init_op is None:
                    raise RuntimeError("Model is not initialized and no init_op or init_fn or local_init_op was given")
                if init_op is not None:
                    sess.run(init_op, feed_dict=init_feed_dict)
                if init_fn:
                    init_fn(sess)
            given = f"Init op: {_name(init_op)}, init fn: {init_fn}"
            missing = self._initialize_locally(sess)
            if missing is not None:
                raise RuntimeError(
                    f"Init operations did not make model ready for local_init.  {given}, error: {missing}"
                )
            missing = _missing(self._ready_op, sess, "Model not ready")
            if missing is not None:
                raise RuntimeError(
                    f"Init operations did not make model ready.  {given}, local_init_op: {_name(self._local_init_op)}, "
                    f"error: {missing}"
                )
        return sess

    def recover_session(
        self,
        master: str,
        saver: Saver | None = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
    ) -> tuple[Session, bool]:
        """A session, and whether a checkpoint was restored that made it ready."""
        sess, restored = self._restored(
            master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs, config
        )
        with _closed_if_failing(sess):
            missing, use = self._initialize_locally(sess), " for local init"
            if not restored:
                return sess, False
            if missing is None:
                missing, use = _missing(self._ready_op, sess, "Model not ready"), ""
        source = checkpoint_dir or checkpoint_filename_with_path
        if missing is not None:
            logging.info("Restoring model from %s did not make model ready%s: %s", source, use, missing)
            return sess, False
        logging.info("Restored model from %s", source)
        return sess, True

    def wait_for_session(self, master: str, config: Any = None, max_wait_secs: float | None = None) -> Session:
        """A session, once another one at `master` has initialised the variables.

        It asks after a moment first, then less and less often, at least every `recovery_wait_secs`.

        Raises DeadlineExceededError if that takes longer than `max_wait_secs` (None for no limit).
        """
        end = time.monotonic() + (float("inf") if max_wait_secs is None else max_wait_secs)
        pause = min(_FIRST_PAUSE_S, self._recovery_wait_secs)
        while True:
            sess = Session(master, graph=self._graph, config=config)
            with _closed_if_failing(sess):
                not_ready = None
                not_ready_for_local = self._initialize_locally(sess)
                if not_ready_for_local is None:
                    not_ready = _missing(self._ready_op, sess, "Model not ready")
                    if not_ready is None:
                        return sess
            close_quietly(sess)
            if time.monotonic() + pause > end:
                raise errors.DeadlineExceededError(
                    None, None, f"Session was not ready after waiting {max_wait_secs} secs."
                )
            logging.info(
                "Waiting for model to be ready.  Ready_for_local_init_op:  %s, ready: %s",
                not_ready_for_local,
                not_ready,
            )
            time.sleep(pause)
            pause = min(1.5 * pause, self._recovery_wait_secs)

    def _restored(
        self, master: str, saver: Saver | None, directory: Any, path: Any, wait: bool, max_wait: float, config: Any
    ) -> tuple[Session, bool]:
        """A new session, and whether a checkpoint was restored in it."""
        if directory and path:
            raise ValueError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
        sess = Session(master, graph=self._graph, config=config)
        with _closed_if_failing(sess):
            if saver is None or not (directory or path):
                return sess, False
            if path:
                saver.restore(sess, path)
                return sess, True
            end = time.monotonic() + (max_wait if wait else 0)
            while (state := get_checkpoint_state(directory)) is None:
                left = end - time.monotonic()
                if left <= 0:
                    return sess, False
                logging.info("Waiting for checkpoint to be available.")
                time.sleep(min(self._recovery_wait_secs, left))
            saver.restore(sess, state.model_checkpoint_path)
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return sess, True

    def _initialize_locally(self, sess: Any) -> str | None:
        """Run `local_init_op` in a session that is ready for it; otherwise says what is missing."""
        if self._local_init_op is None:
            return None
        missing = _missing(self._ready_for_local_init_op, sess, "Model not ready for local init")
        if missing is None:
            logging.info("Running local_init_op.")
            sess.run(self._local_init_op, **self._local_init)
            logging.info("Done running local_init_op.")
        return missing


def close_quietly(sess: Any) -> None:
    """Close a session of which nothing more is expected, not even an error."""
    with contextlib.suppress(Exception):
        sess.close()


@contextlib.contextmanager
def _closed_if_failing(sess: Any) -> Iterator[None]:
    """A session that nobody receives must not keep its variables."""
    try:
        yield
    except BaseException:
        close_quietly(sess)
        raise


def _missing(ready_op: Any, sess: Any, problem: str) -> str | None:
    """What a session lacks according to `ready_op`; None if it is ready."""
    if ready_op is None:
        return None
    try:
        value = sess.run(ready_op)
    except errors.FailedPreconditionError as error:
        if "uninitialized" not in str(error):
            logging.warning("%s : error [%s]", problem, error)
            raise
        return str(error)
    # an operation gives None; ready ops of old programs give a number
    if value is None or value.dtype == np.int32 or value.size == 0:
        return None
    return "Variables not initialized: " + ", ".join(name.decode() for name in value)


def _name(op: Any) -> str:
    return "None" if op is None else getattr(op, "name", f"<no name for {type(op)}>")
