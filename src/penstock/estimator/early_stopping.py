"""Hooks that end training when evaluations stop getting better (TF: tf.estimator.experimental)."""

from __future__ import annotations

import os
from collections.abc import Callable
from operator import gt, lt
from typing import Any

from penstock import logging
from penstock.estimator.estimator import Estimator
from penstock.estimator.results import read_results
from penstock.export import export
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from penstock.training_loop.global_steps import needed_global_step
from penstock.training_loop.timers import SecondOrStepTimer


@export("contrib.estimator.make_early_stopping_hook", "estimator.experimental.make_early_stopping_hook")
def make_early_stopping_hook(
    estimator: Estimator,
    should_stop_fn: Callable[[], bool],
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Ends training when `should_stop_fn()`, called every so many seconds or steps, is true."""
    if not isinstance(estimator, Estimator):
        raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}")
    if run_every_secs is not None and run_every_steps is not None:
        raise ValueError("Only one of `run_every_secs` and `run_every_steps` must be set.")
    return _StopOnPredicateHook(should_stop_fn, SecondOrStepTimer(run_every_secs, run_every_steps))


class _StopOnPredicateHook(SessionRunHook):
    def __init__(self, should_stop: Callable[[], bool], timer: SecondOrStepTimer) -> None:
        self._should_stop, self._timer = should_stop, timer

    def begin(self) -> None:
        self._global_step = needed_global_step(self)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        step = run_values.results
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._should_stop():
                logging.info("Requesting early stopping at global step %d", step)
                run_context.request_stop()


@export("contrib.estimator.read_eval_metrics", "estimator.experimental.read_eval_metrics")
def read_eval_metrics(eval_dir: str) -> dict[int, dict[str, float]]:
    """The results of the evaluations whose summaries are in the folder, by their steps, in the order of these."""
    return dict(sorted(read_results(os.path.join(eval_dir, "*.tfevents.*"))))


def _hook(
    estimator: Estimator, eval_dir: str | None, min_steps: int, every: tuple[float | None, int | None], stops: Any
) -> SessionRunHook:
    """Ends training when `stops(results)` is true for the evaluations from `min_steps` on."""
    directory = eval_dir or estimator.eval_dir()

    def should_stop() -> bool:
        results = read_eval_metrics(directory).items()
        return bool(stops([(step, metrics) for step, metrics in results if step >= min_steps]))

    return make_early_stopping_hook(estimator, should_stop, *every)


def _crossed(metric_name: str, threshold: float, better: Callable[[float, float], bool]) -> Callable[[Any], bool]:
    def stops(results: list[tuple[int, dict[str, float]]]) -> bool:
        for step, metrics in results:
            if better(metrics[metric_name], threshold):
                logging.info(
                    'At step %s, metric "%s" has value %s which is %s the configured threshold (%s) for early '
                    "stopping.",
                    step,
                    metric_name,
                    metrics[metric_name],
                    "higher than" if better is gt else "lower than",
                    threshold,
                )
                return True
        return False

    return stops


def _no_improvement(metric_name: str, most_steps: int, better: Callable[[float, float], bool]) -> Callable[[Any], bool]:
    def stops(results: list[tuple[int, dict[str, float]]]) -> bool:
        best: tuple[int, float] | None = None
        for step, metrics in results:
            if best is None or better(metrics[metric_name], best[1]):
                best = step, metrics[metric_name]
            if step - best[0] >= most_steps:
                logging.info(
                    'No %s in metric "%s" for %s steps, which is greater than or equal to max steps (%s) configured '
                    "for early stopping.",
                    "increase" if better is gt else "decrease",
                    metric_name,
                    step - best[0],
                    most_steps,
                )
                return True
        return False

    return stops


@export("contrib.estimator.stop_if_higher_hook", "estimator.experimental.stop_if_higher_hook")
def stop_if_higher_hook(
    estimator: Estimator,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Ends training when an evaluation's metric is higher than `threshold`."""
    every = run_every_secs, run_every_steps
    return _hook(estimator, eval_dir, min_steps, every, _crossed(metric_name, threshold, gt))


@export("contrib.estimator.stop_if_lower_hook", "estimator.experimental.stop_if_lower_hook")
def stop_if_lower_hook(
    estimator: Estimator,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Ends training when an evaluation's metric is lower than `threshold`."""
    every = run_every_secs, run_every_steps
    return _hook(estimator, eval_dir, min_steps, every, _crossed(metric_name, threshold, lt))


@export("contrib.estimator.stop_if_no_increase_hook", "estimator.experimental.stop_if_no_increase_hook")
def stop_if_no_increase_hook(
    estimator: Estimator,
    metric_name: str,
    max_steps_without_increase: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Ends training when the best value of the metric is so many steps older than the latest evaluation."""
    every, stops = (run_every_secs, run_every_steps), _no_improvement(metric_name, max_steps_without_increase, gt)
    return _hook(estimator, eval_dir, min_steps, every, stops)


@export("contrib.estimator.stop_if_no_decrease_hook", "estimator.experimental.stop_if_no_decrease_hook")
def stop_if_no_decrease_hook(
    estimator: Estimator,
    metric_name: str,
    max_steps_without_decrease: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """`stop_if_no_increase_hook` for a metric, such as a loss, whose smallest value is the best."""
    every, stops = (run_every_secs, run_every_steps), _no_improvement(metric_name, max_steps_without_decrease, lt)
    return _hook(estimator, eval_dir, min_steps, every, stops)
