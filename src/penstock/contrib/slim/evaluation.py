"""Evaluation of checkpoints (TF: tf.contrib.slim.evaluation)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock import logging, summary, train as core
from penstock.client.variables import global_variables, report_uninitialized_variables, variables_initializer
from penstock.contrib.training.checkpoints import wait_for_new_checkpoint as wait_for_new_checkpoint
from penstock.ops.basic import group
from penstock.train.checkpoint_utils import checkpoints_iterator as checkpoints_iterator
from penstock.train.session_run_hook import SessionRunHook
from penstock.training_loop.evaluation import (
    evaluate_once as evaluate_checkpoint,
    evaluate_repeatedly,
    get_or_create_eval_step,
)
from penstock.training_loop.evaluation_hooks import StopAfterNEvalsHook, SummaryAtEndHook
from penstock.training_loop.scaffold import Scaffold

_USE_DEFAULT = 0


def evaluation(
    sess: Any,
    num_evals: int = 1,
    init_op: Any = None,
    init_op_feed_dict: Any = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = None,
    summary_op_feed_dict: Any = None,
    summary_writer: Any = None,
    global_step: Any = None,
) -> Any:
    """In a session: run `init_op`, `num_evals` times `eval_op`, write a summary; returns the value of `final_op`."""
    if init_op is not None:
        sess.run(init_op, init_op_feed_dict)
    for count in range(num_evals if eval_op is not None else 0):
        logging.info("Executing eval_op %d/%d", count + 1, num_evals)
        sess.run(eval_op, eval_op_feed_dict)
    value = None if final_op is None else sess.run(final_op, final_op_feed_dict)
    if summary_op is not None:
        step = core.global_step(sess, core.get_global_step() if global_step is None else global_step)
        summary_writer.add_summary(sess.run(summary_op, summary_op_feed_dict), step)
        summary_writer.flush()
    return value


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
    hooks: Iterable[SessionRunHook] | None = None,
) -> Any:
    """Restore a checkpoint, run `eval_op` `num_evals` times, write summaries; returns the value of `final_op`.

    variables_to_restore: by default all global variables; others are initialised. initial_op runs if there is no
    checkpoint. summary_op: by default all summaries; None for none. TF: tf.contrib.slim.evaluation.evaluate_once.
    """
    return evaluate_checkpoint(
        checkpoint_path, master, _scaffold(initial_op, initial_op_feed_dict, variables_to_restore), eval_op,
        eval_op_feed_dict, final_op, final_op_feed_dict,
        _hooks(num_evals, summary_op, summary_op_feed_dict, logdir, hooks), session_config,
    )  # fmt: skip


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
    hooks: Iterable[SessionRunHook] | None = None,
) -> Any:
    """`evaluate_once` for each new checkpoint of a directory, at most one in `eval_interval_secs`.

    It ends after `max_number_of_evaluations`, or if there is none for `timeout` seconds (and `timeout_fn` agrees);
    returns the last value of `final_op`. `init_fn(session)` is called once variables have values. TF:
    tf.contrib.slim.evaluation.evaluation_loop.
    """
    given = list(hooks or ())
    if init_fn is not None:
        given.insert(0, _Call(init_fn))
    return evaluate_repeatedly(
        checkpoint_dir, master, _scaffold(initial_op, initial_op_feed_dict, variables_to_restore), eval_op,
        eval_op_feed_dict, final_op, final_op_feed_dict, eval_interval_secs,
        _hooks(num_evals, summary_op, summary_op_feed_dict, logdir, given), session_config,
        max_number_of_evaluations, timeout, timeout_fn,
    )  # fmt: skip


class _Call(SessionRunHook):
    """Calls a function with each new session."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._function(session)


def _hooks(
    num_evals: int, summary_op: Any, feeds: Any, logdir: Any, given: Iterable[SessionRunHook] | None
) -> list[SessionRunHook]:
    summary_op = summary.merge_all() if summary_op == _USE_DEFAULT else summary_op
    found: list[SessionRunHook] = [StopAfterNEvalsHook(num_evals)]
    if summary_op is not None:
        found.append(SummaryAtEndHook(logdir, summary_op=summary_op, feed_dict=feeds))
    return [*found, *(given or ())]


def _scaffold(initial_op: Any, initial_feeds: Any, variables_to_restore: Any) -> Scaffold:
    if variables_to_restore is None:
        return Scaffold(initial_op, initial_feeds)
    get_or_create_eval_step()  # to be among the local variables
    restored = list(variables_to_restore.values() if isinstance(variables_to_restore, dict) else variables_to_restore)
    rest = variables_initializer([v for v in global_variables() if v not in set(restored)])
    return Scaffold(
        initial_op,
        initial_feeds,
        ready_for_local_init_op=report_uninitialized_variables(restored),
        local_init_op=group(Scaffold.default_local_init_op(), rest),
        saver=core.Saver(variables_to_restore),
    )
