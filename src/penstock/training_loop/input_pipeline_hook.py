"""`CheckpointInputPipelineHook`: an Estimator's input goes on where it was (TF: tf.data.experimental)."""

from __future__ import annotations

import os
from typing import Any

from penstock import logging
from penstock.checkpoint.files import checkpoint_exists
from penstock.checkpoint.state import get_checkpoint_state
from penstock.data.iterators import ITERATORS, IteratorSaveable
from penstock.export import export
from penstock.graph.scopes import add_to_collection, get_collection
from penstock.train.saver import Saver
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from penstock.training_loop.global_steps import needed_global_step
from penstock.training_loop.saving_hooks import BEFORE_CHECKPOINTS
from penstock.training_loop.timers import SecondOrStepTimer

_OWN_POSITION = frozenset({"IteratorV2", "OneShotIterator"})
"""Ops of iterators that are not other names of iterators."""


@export("contrib.data.CheckpointInputPipelineHook", "data.experimental.CheckpointInputPipelineHook")
class CheckpointInputPipelineHook(SessionRunHook):
    """Saves the positions of all iterators beside an Estimator's checkpoints, as "input.ckpt-STEP", and restores them.

    They are separate so that models can be restored with other input. The position of a step is written before the
    model's checkpoint of that step, and a session that starts at a step takes its position. So training that is killed
    at any moment sees the same elements as training that is not.
    """

    def __init__(self, estimator: Any, external_state_policy: str | None = None) -> None:
        """`estimator`: its `model_dir` and `config` say where and when to save."""
        config = estimator.config
        name = "input"
        if config.num_worker_replicas > 1:
            name += f"_{config.task_type}_{config.task_id}"
        self._save_path = os.path.join(estimator.model_dir, f"{name}.ckpt")
        self._latest_filename = f"checkpoint_{name}"
        self._timer = SecondOrStepTimer(config.save_checkpoints_secs, config.save_checkpoints_steps)
        self._session: Any = None  # the one whose iterators have been restored
        self._max_to_keep = config.keep_checkpoint_max

    def begin(self) -> None:
        handles = [handle for handle in get_collection(ITERATORS) if handle.op.type in _OWN_POSITION]
        saveables = [IteratorSaveable(handle) for handle in handles]
        self._saver = Saver(saveables, sharded=True, max_to_keep=self._max_to_keep)
        self._global_step_tensor = needed_global_step(self)
        add_to_collection(BEFORE_CHECKPOINTS, self._save)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        if self._session is not run_context.session:  # when it was created, other hooks had yet to start iterators
            self._restore(run_context.session)
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._timer.should_trigger_for_step(run_values.results + 1):
            self._save(run_context.session, run_context.session.run(self._global_step_tensor))

    def end(self, session: Any) -> None:
        self._save(session, session.run(self._global_step_tensor))

    def _restore(self, session: Any) -> None:
        step = session.run(self._global_step_tensor)
        self._session = session
        state = get_checkpoint_state(os.path.dirname(self._save_path), self._latest_filename)
        if state is None:
            self._save(session, step)
            return
        path = f"{self._save_path}-{step}"
        if not checkpoint_exists(path):
            path = state.model_checkpoint_path
            logging.warning("There is no input position of step %d. The latest one is restored: %s", step, path)
        self._saver.restore(session, path)
        self._saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        self._timer.update_last_triggered_step(step)

    def _save(self, session: Any, step: int) -> None:
        if session is self._session and step != self._timer.last_triggered_step():
            self._saver.save(
                session, self._save_path, step, latest_filename=self._latest_filename, write_meta_graph=False,
                background=False,
            )  # fmt: skip
            self._timer.update_last_triggered_step(step)
