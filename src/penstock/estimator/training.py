"""One run of training."""

from __future__ import annotations

from typing import Any

from penstock import logging
from penstock.estimator.distributed import spec_of_replicas
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.model import InputFn, Model
from penstock.estimator.run_config import RunConfig
from penstock.estimator.spec import EstimatorSpec
from penstock.graph.scopes import GraphKeys, add_to_collection, get_collection
from penstock.summary.functions import scalar
from penstock.train.global_step import get_global_step
from penstock.train.saver import Saver
from penstock.train.session_run_hook import SessionRunHook
from penstock.training_loop.hooks import LoggingTensorHook, NanTensorHook
from penstock.training_loop.monitored_session import MonitoredTrainingSession
from penstock.training_loop.saving_hooks import CheckpointSaverHook, CheckpointSaverListener


def train_model(
    model: Model, input_fn: InputFn, hooks: list[SessionRunHook], listeners: list[CheckpointSaverListener]
) -> Any:
    """Runs steps until a hook or the end of input ends the session; returns the last loss."""
    strategy = model.config.train_distribute
    with model.graph(strategy):
        features, labels, input_hooks = model.inputs(input_fn, ModeKeys.TRAIN, strategy)
        spec = spec_of_replicas(model, strategy, features, labels, ModeKeys.TRAIN)
        model.warm_start()
        if not any(summary.op.name == "loss" for summary in get_collection(GraphKeys.SUMMARIES)):
            scalar("loss", spec.loss)
        add_to_collection(GraphKeys.LOSSES, spec.loss)
        if not (spec.scaffold.saver or get_collection(GraphKeys.SAVERS)):
            add_to_collection(GraphKeys.SAVERS, _saver(model.config))
        return _run(model, spec, [*input_hooks, *hooks, *_logging_hooks(model.config, spec)], listeners)


def _run(model: Model, spec: EstimatorSpec, hooks: list[Any], listeners: list[CheckpointSaverListener]) -> Any:
    config = model.config
    strategy = config.train_distribute
    # With a strategy that says so, each worker initialises variables of its own, but only one saves them.
    alone = strategy is not None and strategy.between_graph and strategy.should_init
    saves = strategy.should_checkpoint if alone else True
    chief_hooks = [*_saving_hooks(model, spec, hooks, listeners), *spec.training_chief_hooks] if saves else []
    loss, any_step = None, False
    with MonitoredTrainingSession(
        master=config.master,
        is_chief=config.is_chief or alone,
        checkpoint_dir=model.directory,
        scaffold=spec.scaffold,
        hooks=[*hooks, *(strategy.session_hooks() if strategy is not None else [])],
        chief_only_hooks=chief_hooks,
        save_checkpoint_secs=0,  # a hook saves
        save_summaries_steps=config.save_summary_steps if saves else 0,
        config=model.session_config(strategy),
        log_step_count_steps=config.log_step_count_steps,
        max_wait_secs=int(config.session_creation_timeout_secs),
    ) as session:
        fetches = [spec.train_op, spec.loss]
        while not session.should_stop():
            _, loss = session.run(fetches)
            any_step = True
    if not any_step:
        logging.warning("Training with estimator made no steps. Perhaps input is empty or misspecified.")
    return loss


def _saver(config: RunConfig) -> Saver:
    return Saver(
        sharded=True,
        max_to_keep=config.keep_checkpoint_max,
        keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
        defer_build=True,
        save_relative_paths=True,
    )


def _logging_hooks(config: RunConfig, spec: EstimatorSpec) -> list[SessionRunHook]:
    hooks: list[SessionRunHook] = [NanTensorHook(spec.loss)]
    if config.log_step_count_steps is not None:
        logged = {"loss": spec.loss, "step": get_global_step()}
        hooks.append(LoggingTensorHook(logged, every_n_iter=config.log_step_count_steps))
    return [*hooks, *spec.training_hooks]


def _saving_hooks(
    model: Model, spec: EstimatorSpec, hooks: list[Any], listeners: list[CheckpointSaverListener]
) -> list[CheckpointSaverHook]:
    """The hook that saves, unless the model or the caller has one; the listeners are added to whichever it is."""
    config = model.config
    saving = [hook for hook in (*hooks, *spec.training_chief_hooks) if isinstance(hook, CheckpointSaverHook)]
    added: list[CheckpointSaverHook] = []
    if not saving and (config.save_checkpoints_secs or config.save_checkpoints_steps):
        times = config.save_checkpoints_secs, config.save_checkpoints_steps
        added = saving = [CheckpointSaverHook(model.directory, *times, scaffold=spec.scaffold)]
    if listeners:
        if not saving:
            raise ValueError(
                "There should be a CheckpointSaverHook to use saving_listeners. Please set one of the "
                "RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs."
            )
        saving[0]._listeners.extend(listeners)
    return added
