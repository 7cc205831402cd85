"""`Experiment`: an Estimator with its inputs, and ways to run it (TF: tf.contrib.learn.Experiment)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock import logging
from penstock.checkpoint.state import latest_checkpoint
from penstock.contrib.learn import monitors
from penstock.contrib.learn.estimator import BaseEstimator
from penstock.contrib.learn.export_strategy import ExportStrategy
from penstock.contrib.training.hparams import HParams
from penstock.estimator.estimator import Estimator as CoreEstimator
from penstock.estimator.run_config import RunConfig as CoreRunConfig
from penstock.export import export
from penstock.graph.scopes import GraphKeys

Predicate = Callable[[Any], bool]


@export("contrib.learn.Experiment")
class Experiment:
    """An Estimator (of tf.contrib.learn, or of tf.estimator) with input functions.

    eval_metrics: for `evaluate` of the former. train_steps: the global step to train to; None for no end. eval_steps:
    batches of an evaluation; None for all. min_eval_frequency: how many steps at least from one evaluation to the next
    (0: only at the end). Seconds: before evaluations, and between those of `continuous_eval`.
    train_steps_per_iteration: of `continuous_train_and_eval`. export_strategies: run after evaluations.
    """

    def __init__(
        self,
        estimator: Any,
        train_input_fn: Callable[..., Any],
        eval_input_fn: Callable[..., Any],
        eval_metrics: Mapping[Any, Any] | None = None,
        train_steps: int | None = None,
        eval_steps: int | None = 100,
        train_monitors: Iterable[Any] | None = None,
        eval_hooks: Iterable[Any] | None = None,
        local_eval_frequency: int | None = None,
        eval_delay_secs: float = 120,
        continuous_eval_throttle_secs: float = 60,
        min_eval_frequency: int | None = None,
        delay_workers_by_global_step: bool = False,
        export_strategies: Any = None,
        train_steps_per_iteration: int | None = None,
        checkpoint_and_export: bool = False,
        saving_listeners: Any = None,
        check_interval_secs: float = 5,
    ) -> None:
        if isinstance(estimator, CoreEstimator):
            if eval_metrics is not None:
                raise ValueError("`eval_metrics` must be `None` with `tf.estimator.Estimator`")
        elif not isinstance(estimator, BaseEstimator):
            raise ValueError("`estimator` must implement `tf.contrib.learn.Evaluable` or `tf.estimator.Estimator`.")
        if train_steps_per_iteration is not None and not isinstance(train_steps_per_iteration, int):
            raise ValueError("`train_steps_per_iteration` must be an integer.")
        self._estimator = estimator
        self._train_input_fn, self._eval_input_fn = train_input_fn, eval_input_fn
        self._eval_metrics = eval_metrics
        self._train_steps, self._eval_steps = train_steps, eval_steps
        self._train_monitors = list(train_monitors or ())
        self._eval_hooks = list(eval_hooks or ())
        self._local_eval_frequency = local_eval_frequency
        self._eval_delay_secs = eval_delay_secs
        self._continuous_eval_throttle_secs = continuous_eval_throttle_secs
        self._min_eval_frequency = 1 if min_eval_frequency is None else min_eval_frequency
        self._train_steps_per_iteration = train_steps_per_iteration
        self._export_strategies = _strategies(export_strategies)

    @property
    def estimator(self) -> Any:
        return self._estimator

    @property
    def eval_metrics(self) -> Any:
        return self._eval_metrics

    @property
    def train_steps(self) -> int | None:
        return self._train_steps

    @property
    def eval_steps(self) -> int | None:
        return self._eval_steps

    def extend_train_hooks(self, additional_hooks: Iterable[Any]) -> None:
        """Add hooks or monitors for training."""
        self._train_monitors.extend(additional_hooks)

    def reset_export_strategies(self, new_export_strategies: Any = None) -> tuple[ExportStrategy, ...]:
        """Replace the export strategies; returns the old ones."""
        old, self._export_strategies = self._export_strategies, _strategies(new_export_strategies)
        return old

    # --- schedules --------------------------------------------------------------------------------------

    def train(self, delay_secs: float | None = None) -> Any:
        """Train to the global step `train_steps`; returns the Estimator."""
        if delay_secs:
            logging.info("Waiting %d secs before starting training.", delay_secs)
            time.sleep(delay_secs)
        return self._train(self._train_monitors, max_steps=self._train_steps)

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> Any:
        """Evaluate the latest checkpoint after `delay_secs`, by default `eval_delay_secs`."""
        delay = self._eval_delay_secs if delay_secs is None else delay_secs
        if delay:
            logging.info("Waiting %d secs before starting eval.", delay)
            time.sleep(delay)
        return self._evaluate(self._eval_input_fn, name or "one_pass")

    def train_and_evaluate(self) -> tuple[Any, list[Any]]:
        """Train, evaluating new checkpoints every `min_eval_frequency` steps; then evaluate and export.

        Returns the results of the last evaluation and of the export strategies.
        """
        return self._train_and_evaluate(self._min_eval_frequency)

    def local_run(self) -> tuple[Any, list[Any]]:
        """`train_and_evaluate`, evaluating every `local_eval_frequency` steps, by default only at the end."""
        return self._train_and_evaluate(self._local_eval_frequency or 0)

    def _train_and_evaluate(self, frequency: int) -> tuple[Any, list[Any]]:
        watching = list(self._train_monitors)
        if frequency:
            watching.append(
                monitors.ValidationMonitor(
                    input_fn=self._eval_input_fn,
                    eval_steps=self._eval_steps,
                    metrics=self._eval_metrics,
                    every_n_steps=frequency,
                    hooks=self._eval_hooks,
                )
            )
        self._train(watching, max_steps=self._train_steps)
        results = self._evaluate(self._eval_input_fn, None)
        return results, self._exports(results)

    def continuous_train_and_eval(self, continuous_eval_predicate_fn: Predicate | None = None) -> tuple[Any, list[Any]]:
        """Train for `train_steps_per_iteration` steps and evaluate, in turn, until `train_steps`, or until the
        predicate refuses the last results (None at the start)."""
        goes_on = _checked(continuous_eval_predicate_fn)
        steps = self._train_steps_per_iteration
        if steps is None:
            steps = 1000 if self._train_steps is None else max(1, self._train_steps // 10)
        results: Any = None
        while goes_on(results) and not self._has_ended(results):
            self._train(self._train_monitors, steps=steps)
            results = self._evaluate(self._eval_input_fn, "one_pass")
        return results, self._exports(results)

    def continuous_eval(
        self,
        delay_secs: float | None = None,
        throttle_delay_secs: float | None = None,
        evaluate_checkpoint_only_once: bool = True,
        continuous_eval_predicate_fn: Predicate | None = None,
        name: str = "continuous",
    ) -> None:
        """Evaluate the latest checkpoint again and again, as another process writes them, until one is of `train_steps`
        or the predicate refuses the last results."""
        throttle = self._continuous_eval_throttle_secs if throttle_delay_secs is None else throttle_delay_secs
        self._evaluate_on(
            self._eval_input_fn, name, delay_secs, throttle, evaluate_checkpoint_only_once,
            _checked(continuous_eval_predicate_fn),
        )  # fmt: skip

    def continuous_eval_on_train_data(
        self,
        delay_secs: float | None = None,
        throttle_delay_secs: float | None = None,
        continuous_eval_predicate_fn: Predicate | None = None,
        name: str = "continuous_on_train_data",
    ) -> None:
        """`continuous_eval` with the input for training."""
        throttle = self._continuous_eval_throttle_secs if throttle_delay_secs is None else throttle_delay_secs
        predicate = _checked(continuous_eval_predicate_fn)
        self._evaluate_on(self._train_input_fn, name, delay_secs, throttle, True, predicate)

    def test(self) -> Any:
        """One step of training, one of evaluation, and the exports."""
        self._train(self._train_monitors, steps=1)
        results = self._evaluate(self._eval_input_fn, "one_pass", steps=1)
        self._exports(results)
        return results

    # --- parts ------------------------------------------------------------------------------------------

    def _evaluate_on(
        self, input_fn: Any, name: str, delay: float | None, throttle: float, once: bool, goes_on: Predicate
    ) -> None:
        time.sleep(self._eval_delay_secs if delay is None else delay)
        evaluated, results = None, None
        while goes_on(results) and not self._has_ended(results):
            began = time.monotonic()
            path = latest_checkpoint(self._estimator.model_dir)
            if path is not None and not (once and path == evaluated):
                results = self._evaluate(input_fn, name, path)
                self._exports(results, path)
                evaluated = path
            else:
                results = {}
            time.sleep(max(0.0, throttle - (time.monotonic() - began)))

    def _has_ended(self, results: Any) -> bool:
        step = (results or {}).get(GraphKeys.GLOBAL_STEP)
        return bool(step and self._train_steps and step >= self._train_steps)

    def _train(self, hooks: list[Any], steps: int | None = None, max_steps: int | None = None) -> Any:
        if isinstance(self._estimator, CoreEstimator):
            hooks = monitors.replace_monitors_with_hooks(hooks, self._estimator)
            return self._estimator.train(self._train_input_fn, hooks, steps, max_steps)
        return self._estimator.fit(input_fn=self._train_input_fn, steps=steps, max_steps=max_steps, monitors=hooks)

    def _evaluate(self, input_fn: Any, name: str | None, path: Any = None, steps: int | None = None) -> Any:
        given: dict[str, Any] = {
            "input_fn": input_fn, "steps": steps or self._eval_steps, "name": name, "checkpoint_path": path,
            "hooks": self._eval_hooks,
        }  # fmt: skip
        if not isinstance(self._estimator, CoreEstimator):
            given["metrics"] = self._eval_metrics
        return self._estimator.evaluate(**given)

    def _exports(self, results: Any, checkpoint_path: Any = None) -> list[Any]:
        base = os.path.join(self._estimator.model_dir, "export")
        return [
            strategy.export(self._estimator, os.path.join(base, strategy.name), checkpoint_path, results)
            for strategy in self._export_strategies
        ]


def _strategies(given: Any) -> tuple[ExportStrategy, ...]:
    found = (given,) if isinstance(given, ExportStrategy) else tuple(given or ())
    for strategy in found:
        if not isinstance(strategy, ExportStrategy):
            raise ValueError(
                "`export_strategies` must be an ExportStrategy, an iterable of ExportStrategy, or `None`, found "
                f"{strategy}."
            )
    return found


def _checked(predicate: Predicate | None) -> Predicate:
    if predicate is not None and not callable(predicate):
        raise ValueError("`continuous_eval_predicate_fn` must be a callable, or None.")
    return predicate or (lambda results: True)


def run(
    experiment_fn: Callable[..., Experiment],
    output_dir: Any = None,
    schedule: str | None = None,
    run_config: Any = None,
    hparams: HParams | None = None,
) -> Any:
    """Call a method (`schedule`, by default `train_and_evaluate`) of an Experiment, and return its result.

    The Experiment is `experiment_fn(run_config, hparams)`, or in older programs `experiment_fn(output_dir=…)`.
    TF: tf.contrib.learn.learn_runner.run. Raises ValueError for other arguments and unknown methods, TypeError for what
    is no Experiment.
    """
    if output_dir is not None and run_config is not None:
        raise ValueError("Cannot provide both `output_dir` and `run_config`")
    if output_dir is None and run_config is None:
        raise ValueError("Must set value for `output_dir` or `run_config`")
    if not callable(experiment_fn):
        raise TypeError(f'Experiment builder "{experiment_fn}" is not callable.')
    if run_config is None:
        if not output_dir:
            raise ValueError("Must specify an output directory")
        if hparams is not None:
            raise ValueError("Must set `hparams` as None for `experiment_fn` with `output_dir`.")
        experiment = experiment_fn(output_dir=output_dir)
    else:
        if not isinstance(run_config, CoreRunConfig):
            raise ValueError("`run_config` must be `RunConfig` instance")
        if not run_config.model_dir:
            raise ValueError("Must specify a model directory in `run_config`.")
        if hparams is not None and not isinstance(hparams, HParams):
            raise ValueError("`hparams` must be `HParams` instance")
        experiment = experiment_fn(run_config, hparams)
    if not isinstance(experiment, Experiment):
        raise TypeError(f"Experiment builder did not return an Experiment instance, got {type(experiment)} instead.")
    if run_config is not None and experiment.estimator.model_dir != run_config.model_dir:
        raise RuntimeError(
            "`RunConfig` instance is expected to be used by the `Estimator` inside the `Experiment`: model_dir "
            f"{run_config.model_dir}, but got {experiment.estimator.model_dir}"
        )
    task = getattr(experiment, schedule or "train_and_evaluate", None)
    if not callable(task) or (schedule or "").startswith("_"):
        methods = sorted(name for name in vars(Experiment) if not name.startswith("_") and name != "estimator")
        raise ValueError(f"Schedule references non-existent task {schedule}; these are there: {methods}")
    return task()
