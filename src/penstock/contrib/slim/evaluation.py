"""Evaluation of checkpoints (TF: tf.contrib.slim.evaluation)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock import logging, summary, train as core
from penstock.client.variables import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    variables_initializer,
)
from penstock.contrib.training.checkpoints import wait_for_new_checkpoint as wait_for_new_checkpoint
from penstock.graph.scopes import GraphKeys, get_collection
from penstock.ops.basic import group
from penstock.session.session import Session
from penstock.train.checkpoint_utils import checkpoints_iterator as checkpoints_iterator
from penstock.train.coordinator import Coordinator
from penstock.train.queue_runner import start_queue_runners

_USE_DEFAULT = 0


@contextmanager
def _queue_runners(sess: Any) -> Iterator[None]:
    """Runs the graph's queue runners, if it has any."""
    if not get_collection(GraphKeys.QUEUE_RUNNERS):
        yield
        return
    coordinator = Coordinator()
    threads = start_queue_runners(sess, coordinator)
    try:
        yield
    finally:
        coordinator.request_stop()
        coordinator.join(threads, ignore_live_threads=True)


class _Evaluation:
    """The complete graph of an evaluation, which can be run for one checkpoint after another."""

    def __init__(
        self, initial_op: Any, initial_feeds: Any, init_fn: Any, eval_op: Any, eval_feeds: Any, final_op: Any,
        final_feeds: Any, summary_op: Any, summary_feeds: Any, variables_to_restore: Any,
    ) -> None:  # fmt: skip
        self._runs = (eval_op, eval_feeds), (final_op, final_feeds)
        self._init_fn, self._initial_feeds = init_fn, initial_feeds
        self._summary_op = summary.merge_all() if summary_op == _USE_DEFAULT else summary_op
        self._summary_feeds = summary_feeds
        self._step = core.get_or_create_global_step()
        wanted = global_variables() if variables_to_restore is None else variables_to_restore
        self._saver = core.Saver(wanted)
        restored = set(wanted.values() if isinstance(wanted, dict) else wanted)
        rest = variables_initializer([v for v in global_variables() if v not in restored])
        self._initial_op = initial_op if initial_op is not None else rest
        local = [local_variables_initializer(), *get_collection(GraphKeys.TABLE_INITIALIZERS)]
        self._local_op = group(*local)

    def run(self, master: Any, checkpoint_path: Any, logdir: Any, num_evals: int, config: Any) -> Any:
        (eval_op, eval_feeds), (final_op, final_feeds) = self._runs
        with Session(master, config=config) as sess:
            sess.run(self._initial_op, self._initial_feeds)
            if checkpoint_path is not None:
                self._saver.restore(sess, checkpoint_path)
            else:
                sess.run(global_variables_initializer())
            if self._init_fn is not None:
                self._init_fn(sess)
            sess.run(self._local_op)
            with _queue_runners(sess):
                for _ in range(num_evals if eval_op is not None else 0):
                    sess.run(eval_op, eval_feeds)
                if self._summary_op is not None:
                    values, step = sess.run([self._summary_op, self._step], self._summary_feeds)
                    writer = summary.FileWriterCache.get(logdir)
                    writer.add_summary(values, step)
                    writer.flush()
                return None if final_op is None else sess.run(final_op, final_feeds)


def evaluate_once(
    master: Any,
    checkpoint_path: Any,
    logdir: Any,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _USE_DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    session_config: Any = None,
    hooks: Any = None,
) -> Any:
    """Restore a checkpoint, run `eval_op` `num_evals` times, write summaries; returns the value of `final_op`.

    variables_to_restore: by default all global variables; others are initialised, by default all by `initial_op`.
    summary_op: by default all summaries; None for none. TF: tf.contrib.slim.evaluation.evaluate_once. Raises
    NotImplementedError for `hooks`.
    """
    _refuse(hooks)
    evaluation = _Evaluation(
        initial_op, initial_op_feed_dict, None, eval_op, eval_op_feed_dict, final_op, final_op_feed_dict, summary_op,
        summary_op_feed_dict, variables_to_restore,
    )  # fmt: skip
    return evaluation.run(master, checkpoint_path, logdir, num_evals, session_config)


def _refuse(hooks: Any) -> None:
    if hooks:
        raise NotImplementedError("slim.evaluation takes no hooks: run them with a tf.train.MonitoredSession")


def evaluation_loop(
    master: Any,
    checkpoint_dir: Any,
    logdir: Any,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    init_fn: Callable[[Any], Any] | None = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _USE_DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    eval_interval_secs: float = 60,
    max_number_of_evaluations: int | None = None,
    session_config: Any = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
    hooks: Any = None,
) -> Any:
    """`evaluate_once` for each new checkpoint of a directory, at most one in `eval_interval_secs`.

    It ends after `max_number_of_evaluations`, or if there is none for `timeout` seconds (and `timeout_fn` agrees);
    returns the last value of `final_op`. TF: tf.contrib.slim.evaluation.evaluation_loop.
    """
    _refuse(hooks)
    evaluation = _Evaluation(
        initial_op, initial_op_feed_dict, init_fn, eval_op, eval_op_feed_dict, final_op, final_op_feed_dict,
        summary_op, summary_op_feed_dict, variables_to_restore,
    )  # fmt: skip
    value = None
    for count, path in enumerate(checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn), 1):
        began = time.monotonic()
        value = evaluation.run(master, path, logdir, num_evals, session_config)
        logging.info("Evaluated %s in %.1f s", path, time.monotonic() - began)
        if max_number_of_evaluations is not None and count >= max_number_of_evaluations:
            break
    return value
