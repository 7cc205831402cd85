"""Evaluation of checkpoints: batches, counted by the eval step, then final values (TF: tf.contrib.training)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock import logging
from penstock.client.initializers import zeros_initializer
from penstock.client.variable_scope import get_variable
from penstock.export import export
from penstock.graph.scopes import GraphKeys, control_dependencies, get_collection
from penstock.ops.basic import identity
from penstock.ops.state import assign_add
from penstock.tensor.dtypes import int64
from penstock.train.checkpoint_utils import checkpoints_iterator
from penstock.train.session_run_hook import SessionRunHook
from penstock.training_loop.evaluation_hooks import StopAfterNEvalsHook
from penstock.training_loop.hooks import FinalOpsHook
from penstock.training_loop.monitored_session import MonitoredSession
from penstock.training_loop.scaffold import Scaffold
from penstock.training_loop.session_creators import ChiefSessionCreator


@export("contrib.training.get_or_create_eval_step")
def get_or_create_eval_step() -> Any:
    """The graph's count of evaluated batches: a local variable, in the collection EVAL_STEP.

    Raises ValueError if the collection has several items.
    """
    held = get_collection(GraphKeys.EVAL_STEP)
    if len(held) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if held:
        return held[0]
    return get_variable(
        "eval_step",
        shape=[],
        dtype=int64,
        initializer=zeros_initializer(),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
    )


@export("contrib.training.evaluate_once")
def evaluate_once(
    checkpoint_path: Any,
    master: str = "",
    scaffold: Scaffold | None = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    hooks: Iterable[SessionRunHook] | None = None,
    config: Any = None,
) -> Any:
    """Restore a checkpoint, run `eval_ops` until a hook, such as StopAfterNEvalsHook, or the end of the input stops
    that, and return the values of `final_ops` (a tensor, or a list or dict of them).

    scaffold: its saver restores; a `local_init_op` of its own must also initialise the eval step.
    """
    evaluation = _Evaluation(eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks)
    return evaluation.run(checkpoint_path, master, scaffold, config)


@export("contrib.training.evaluate_repeatedly")
def evaluate_repeatedly(
    checkpoint_dir: Any,
    master: str = "",
    scaffold: Scaffold | None = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    eval_interval_secs: float = 60,
    hooks: Iterable[SessionRunHook] | None = None,
    config: Any = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Any:
    """`evaluate_once` for each new checkpoint of a directory, at most one in `eval_interval_secs`.

    It ends after `max_number_of_evaluations`, or if there is none for `timeout` seconds (and `timeout_fn` agrees);
    returns the last values of `final_ops`, None without an evaluation.
    """
    evaluation = _Evaluation(eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks)
    values = None
    for count, path in enumerate(checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn), 1):
        values = evaluation.run(path, master, scaffold, config)
        if max_number_of_evaluations is not None and count >= max_number_of_evaluations:
            break
    return values


class _Evaluation:
    """What runs for each checkpoint."""

    def __init__(
        self,
        eval_ops: Any,
        feed_dict: Any,
        final_ops: Any,
        final_ops_feed_dict: Any,
        hooks: Iterable[SessionRunHook] | None,
    ) -> None:
        given = list(hooks or ())
        self._eval_ops, self._feed_dict = _counted(eval_ops, given), feed_dict
        self._final = FinalOpsHook(final_ops, final_ops_feed_dict)
        self._hooks = [*given, self._final]

    def run(self, checkpoint_path: Any, master: str, scaffold: Scaffold | None, config: Any) -> Any:
        """The final values for a checkpoint."""
        logging.info("Starting evaluation at %s", _now())
        began = time.monotonic()
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_filename_with_path=checkpoint_path)
        with MonitoredSession(creator, self._hooks) as session:
            while self._eval_ops is not None and not session.should_stop():
                session.run(self._eval_ops, self._feed_dict)
        logging.info("Inference Time : %.5fs", time.monotonic() - began)
        logging.info("Finished evaluation at %s", _now())
        return self._final.final_ops_values


def _counted(eval_ops: Any, hooks: Iterable[SessionRunHook]) -> Any:
    """`eval_ops` with one more that counts batches, for hooks that stop after some."""
    eval_step = get_or_create_eval_step()
    if eval_ops is None:
        return None
    update = assign_add(eval_step, 1, use_locking=True)
    if isinstance(eval_ops, Mapping):
        counted: Any = {**eval_ops, "update_eval_step": update}
        done = list(counted.values())
    else:
        counted = done = [*eval_ops, update] if isinstance(eval_ops, list | tuple) else [eval_ops, update]
    with control_dependencies(done):
        value = identity(eval_step.read_value())
    for hook in hooks:
        if isinstance(hook, StopAfterNEvalsHook):
            hook._set_evals_completed_tensor(value)
    return counted


def _now() -> str:
    return time.strftime("%Y-%m-%d-%H:%M:%S", time.gmtime())
