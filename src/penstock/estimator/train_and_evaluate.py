"""`train_and_evaluate`: training with an evaluation after each checkpoint."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from penstock import logging
from penstock.estimator.cluster import TaskType
from penstock.estimator.estimator import Estimator
from penstock.estimator.specs import EvalSpec, TrainSpec
from penstock.estimator.tasks import is_alone, start_server, wait_for_turn
from penstock.export import export
from penstock.graph.scopes import GraphKeys
from penstock.train.session_run_hook import SessionRunHook
from penstock.training_loop.progress_hook import ProgressHook
from penstock.training_loop.saving_hooks import CheckpointSaverListener
from penstock.training_loop.timers import SecondOrStepTimer


@export("estimator.train_and_evaluate")
def train_and_evaluate(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> Any:
    """Train as `train_spec` says; evaluate each new checkpoint, at most one in `eval_spec.throttle_secs`, and the last.

    Returns the metrics of the last evaluation and what its exporters returned. On terminals, a bar shows how far
    training has come. TF_CONFIG may make this process a task of a cluster: chief and workers train together, a
    parameter server serves until it is killed, a master also evaluates; an evaluator evaluates checkpoints that others
    write, until one has the last step. TF: tf.estimator.train_and_evaluate.
    """
    for name, given, kind in (
        ("estimator", estimator, Estimator),
        ("train_spec", train_spec, TrainSpec),
        ("eval_spec", eval_spec, EvalSpec),
    ):
        if not isinstance(given, kind):
            raise TypeError(f"`{name}` must have type `tf.estimator.{kind.__name__}`, given {type(given)}")
    config = estimator.config
    evaluator = _Evaluator(estimator, eval_spec, train_spec.max_steps)
    if config.task_type == TaskType.EVALUATOR:
        if config.task_id > 0:
            raise ValueError(
                "For distributed training, there can only be one `evaluator` task (with task id 0).  Given task id "
                f"{config.task_id}"
            )
        return evaluator.evaluate_until_trained()
    hooks = [*train_spec.hooks, *_progress(train_spec)]
    if config.cluster_spec:
        return _run_task(estimator, train_spec, eval_spec, evaluator)
    logging.info("Running training and evaluation locally (non-distributed).")
    logging.info(
        "Start train and evaluate loop. The evaluate will happen after every checkpoint. Checkpoint frequency is "
        "determined based on RunConfig arguments: save_checkpoints_steps %s or save_checkpoints_secs %s.",
        config.save_checkpoints_steps,
        config.save_checkpoints_secs,
    )
    listener = _EvaluatesCheckpoints(evaluator, eval_spec.throttle_secs)
    hooks = [*train_spec.hooks, *_progress(train_spec)]
    _train(estimator, train_spec, hooks, (*train_spec.saving_listeners, listener))
    return listener.metrics, listener.exported


def _run_task(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec, evaluator: _Evaluator) -> Any:
    config = estimator.config
    server = None if is_alone(config) else start_server(config)
    if config.task_type == TaskType.PS:
        assert server is not None
        server.join()
        return None
    hooks = [*train_spec.hooks, *(_progress(train_spec) if config.is_chief else ())]
    if config.task_type == TaskType.MASTER:
        listener = _EvaluatesCheckpoints(evaluator, eval_spec.throttle_secs)
        _train(estimator, train_spec, hooks, (*train_spec.saving_listeners, listener))
        return listener.metrics, listener.exported
    logging.info("Running training as %s %d, without evaluation.", config.task_type, config.task_id)
    wait_for_turn(config)
    _train(estimator, train_spec, hooks, train_spec.saving_listeners if config.is_chief else ())
    return None


def _train(estimator: Estimator, spec: TrainSpec, hooks: Any, listeners: Any) -> None:
    estimator.train(spec.input_fn, max_steps=spec.max_steps, hooks=hooks, saving_listeners=listeners)


def _progress(spec: TrainSpec) -> list[SessionRunHook]:
    """A bar, if somebody can see it and the program has none."""
    if not sys.stderr.isatty() or any(isinstance(hook, ProgressHook) for hook in spec.hooks):
        return []
    return [ProgressHook(total_steps=spec.max_steps)]


class _Evaluator:
    """Evaluates and exports the latest checkpoint, each only once."""

    def __init__(self, estimator: Estimator, spec: EvalSpec, max_steps: int | None) -> None:
        self._estimator, self._spec, self._max_steps = estimator, spec, max_steps
        self._previous: str | None = None
        self.is_final = False
        """Whether the last evaluation was of the last step."""

    def evaluate_and_export(self) -> tuple[dict[str, Any], list[Any]] | None:
        """The metrics, and what exporters returned; None if there is no new checkpoint."""
        spec, checkpoint = self._spec, self._estimator.latest_checkpoint()
        if checkpoint is None:
            logging.warning("Estimator is not trained yet. Will start an evaluation when a checkpoint is ready.")
            return None
        if checkpoint == self._previous:
            logging.warning(
                "No new checkpoint ready for evaluation. Skip the current evaluation pass as evaluation results are "
                "expected to be same for the same checkpoint."
            )
            return None
        metrics = self._estimator.evaluate(
            spec.input_fn, steps=spec.steps, name=spec.name, checkpoint_path=checkpoint, hooks=spec.hooks
        )
        self._previous = checkpoint
        self.is_final = self._max_steps is not None and bool(metrics[GraphKeys.GLOBAL_STEP] >= self._max_steps)
        exported = [
            exporter.export(
                estimator=self._estimator,
                export_path=os.path.join(self._estimator.model_dir, "export", exporter.name),
                checkpoint_path=checkpoint,
                eval_result=metrics,
                is_the_final_export=self.is_final,
            )
            for exporter in spec.exporters
        ]
        return metrics, exported

    def evaluate_until_trained(self) -> Any:
        """For an evaluator's process. Returns what `evaluate_and_export` did for the last step."""
        if self._spec.start_delay_secs:
            logging.info("Waiting %f secs before starting eval.", self._spec.start_delay_secs)
            time.sleep(self._spec.start_delay_secs)
        found = None
        while not self.is_final:
            began = time.monotonic()
            found = self.evaluate_and_export() or found
            if not self.is_final:
                time.sleep(max(0.0, self._spec.throttle_secs - (time.monotonic() - began)))
        return found


class _EvaluatesCheckpoints(CheckpointSaverListener):
    """Evaluates what a CheckpointSaverHook has saved, but for the first, before training."""

    def __init__(self, evaluator: _Evaluator, throttle_secs: float) -> None:
        self._evaluator, self._throttle_secs = evaluator, throttle_secs
        self.metrics: dict[str, Any] | None = None
        self.exported: list[Any] = []

    def begin(self) -> None:
        self._timer = SecondOrStepTimer(every_secs=self._throttle_secs)
        self._is_first = True
        logging.debug("Checkpoints are evaluated every %s seconds at most.", self._throttle_secs)

    def after_save(self, session: Any, global_step_value: int) -> None:
        if self._is_first:
            self._is_first = False
        elif self._timer.should_trigger_for_step(global_step_value):
            self._evaluate(global_step_value)
        else:
            logging.info("Skip the current checkpoint eval due to throttle secs (%s secs).", self._throttle_secs)

    def end(self, session: Any, global_step_value: int) -> None:
        if global_step_value != self._timer.last_triggered_step():
            self._evaluate(global_step_value)

    def _evaluate(self, step: int) -> None:
        self._timer.update_last_triggered_step(step)
        found = self._evaluator.evaluate_and_export()
        if found is None:
            raise RuntimeError("There was no new checkpoint after the training.")
        self.metrics, self.exported = found
