"""One evaluation of a checkpoint (TF: tensorflow/python/training/evaluation.py)."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from penstock import logging
from penstock.client.initializers import zeros_initializer
from penstock.client.variable_scope import get_variable
from penstock.graph.scopes import GraphKeys, get_default_graph
from penstock.ops.state import assign_add
from penstock.tensor.dtypes import int64
from penstock.training_loop.evaluation_hooks import StopAfterNEvalsHook
from penstock.training_loop.hooks import FinalOpsHook
from penstock.training_loop.monitored_session import MonitoredSession
from penstock.training_loop.scaffold import Scaffold
from penstock.training_loop.session_creators import ChiefSessionCreator
from penstock.train.session_run_hook import SessionRunHook


def get_or_create_eval_step() -> Any:
    """The local variable that counts the batches of an evaluation. Raises ValueError if there are several."""
    steps = get_default_graph().get_collection(GraphKeys.EVAL_STEP)
    if len(steps) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if steps:
        return steps[0]
    return get_variable(
        "eval_step",
        shape=[],
        dtype=int64,
        initializer=zeros_initializer(),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
    )


def evaluate_once(
    checkpoint_path: str | None,
    master: str = "",
    scaffold: Scaffold | None = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    hooks: Iterable[SessionRunHook] | None = None,
    config: Any = None,
) -> Any:
    """Restore a checkpoint (None: initialise), run `eval_ops` until a hook or the end of input ends it, and return the
    values of `final_ops`."""
    step = assign_add(get_or_create_eval_step(), 1, use_locking=True)
    hooks = list(hooks or [])
    for hook in hooks:
        if isinstance(hook, StopAfterNEvalsHook):
            hook._set_evals_completed_tensor(step)
    if isinstance(eval_ops, dict):
        eval_ops = {**eval_ops, "update_eval_step": step}
    elif eval_ops is not None:
        eval_ops = [*(eval_ops if isinstance(eval_ops, list | tuple) else [eval_ops]), step]
    _say("Starting evaluation at")
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    creator = ChiefSessionCreator(
        scaffold=scaffold, checkpoint_filename_with_path=checkpoint_path, master=master, config=config
    )
    with MonitoredSession(creator, hooks=[*hooks, final]) as session:
        while eval_ops is not None and not session.should_stop():
            session.run(eval_ops, feed_dict)
    _say("Finished evaluation at")
    return final.final_ops_values


def _say(what: str) -> None:
    logging.info("%s %s", what, time.strftime("%Y-%m-%d-%H:%M:%S", time.gmtime()))
