"""One evaluation of a model."""

from __future__ import annotations

import os
from typing import Any

from penstock import nest
from penstock.estimator.distributed import spec_of_replicas
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.model import InputFn, Model
from penstock.estimator.results import write_results
from penstock.estimator.spec import LOSS_METRIC_KEY, EstimatorSpec
from penstock.graph.scopes import GraphKeys
from penstock.metrics.means import mean
from penstock.ops.basic import group
from penstock.train.global_step import get_global_step
from penstock.train.session_run_hook import SessionRunHook
from penstock.training_loop.evaluation import evaluate_once, get_or_create_eval_step
from penstock.training_loop.scaffold import Scaffold


def evaluate_model(
    model: Model, input_fn: InputFn, hooks: list[SessionRunHook], checkpoint: str | None, directory: str
) -> dict[str, Any]:
    """Metrics until a hook or the end of input ends it. Their summaries are written to `directory`."""
    strategy = model.config.eval_distribute
    with model.graph(strategy):
        features, labels, input_hooks = model.inputs(input_fn, ModeKeys.EVAL, strategy)
        spec = spec_of_replicas(model, strategy, features, labels, ModeKeys.EVAL)
        if not checkpoint:
            model.warm_start()
        update_op, values = _with_loss(spec)
        scaffold = spec.scaffold
        if scaffold.local_init_op:
            get_or_create_eval_step()  # a local variable as well
            initialised = group(scaffold.local_init_op, Scaffold.default_local_init_op())
            scaffold = Scaffold(local_init_op=initialised, copy_from_scaffold=scaffold)
        results: dict[str, Any] = evaluate_once(
            checkpoint_path=checkpoint,
            master=model.config.evaluation_master,
            scaffold=scaffold,
            eval_ops=update_op,
            final_ops=values,
            hooks=[*input_hooks, *hooks, *spec.evaluation_hooks],
            config=model.session_config(strategy),
        )
    write_results(directory, results, int(results[GraphKeys.GLOBAL_STEP]), checkpoint)
    return results


def evaluations_in(directory: str, name: str | None) -> str:
    return os.path.join(directory, f"eval_{name}" if name else "eval")


def _with_loss(spec: EstimatorSpec) -> tuple[Any, dict[str, Any]]:
    """The update of all metrics and the mean loss, and their values with the global step."""
    metrics = dict(spec.eval_metric_ops)
    for name in (LOSS_METRIC_KEY, GraphKeys.GLOBAL_STEP):
        if name in metrics:
            raise ValueError(
                f"Metric with name `{name}` is not allowed, because Estimator already defines a default metric with "
                "the same name."
            )
    metrics[LOSS_METRIC_KEY] = mean(spec.loss)
    values = {name: value for name, (value, _) in sorted(metrics.items())}
    update_op = group(*nest.flatten([update for _, (_, update) in sorted(metrics.items())]))
    return update_op, values | {GraphKeys.GLOBAL_STEP: get_global_step()}
