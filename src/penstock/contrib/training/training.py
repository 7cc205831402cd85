"""A loop of steps with the usual hooks (TF: tf.contrib.training.train)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.export import export
from penstock.train.session_run_hook import SessionRunHook
from penstock.training_loop.monitored_session import MonitoredTrainingSession
from penstock.training_loop.scaffold import Scaffold


@export("contrib.training.train")
def train(
    train_op: Any,
    logdir: Any,
    master: str = "",
    is_chief: bool = True,
    scaffold: Scaffold | None = None,
    hooks: Iterable[SessionRunHook] | None = None,
    chief_only_hooks: Iterable[SessionRunHook] | None = None,
    save_checkpoint_secs: float | None = 600,
    save_summaries_steps: int | None = 100,
    config: Any = None,
    max_wait_secs: float = 7200,
    run_metadata: Any = None,
) -> Any:
    """Run `train_op` in a MonitoredTrainingSession until a hook stops it; returns its last value.

    run_metadata: takes what each step tells of itself.

    Raises ValueError for the chief without a `logdir`, unless it saves nothing.
    """
    if logdir is None and is_chief:
        if save_summaries_steps:
            raise ValueError("logdir cannot be None when save_summaries_steps is not None")
        if save_checkpoint_secs:
            raise ValueError("logdir cannot be None when save_checkpoint_secs is not None")
    value = None
    with MonitoredTrainingSession(
        master, is_chief, logdir, scaffold, hooks, chief_only_hooks, save_checkpoint_secs, save_summaries_steps,
        config=config, max_wait_secs=max_wait_secs,
    ) as session:  # fmt: skip
        while not session.should_stop():
            value = session.run(train_op, run_metadata=run_metadata)
    return value
