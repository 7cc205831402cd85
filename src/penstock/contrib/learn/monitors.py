"""Monitors: what hooks were before `tf.train.SessionRunHook`, and evaluation during training
(TF: tf.contrib.learn.monitors)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock import logging
from penstock.checkpoint.state import latest_checkpoint
from penstock.estimator.estimator import Estimator as CoreEstimator
from penstock.graph.scopes import get_default_graph
from penstock.train.global_step import get_global_step
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues


class BaseMonitor:
    """Called at the begin and the end of training and of each step; a base class."""

    def __init__(self) -> None:
        self._estimator: Any = None
        self._max_steps: int | None = None

    def set_estimator(self, estimator: Any) -> None:
        """Called with the Estimator that is trained. ValueError for None."""
        if estimator is None:
            raise ValueError("Missing estimator.")
        self._estimator = estimator

    def begin(self, max_steps: int | None = None) -> None:
        """Called before training."""
        self._max_steps = max_steps

    def end(self, session: Any = None) -> None:
        """Called after training."""

    def step_begin(self, step: int) -> list[Any]:
        """Called before a step; returns tensors, or their names, whose values `step_end` gets."""
        return []

    def step_end(self, step: int, output: Mapping[Any, Any]) -> bool:
        """Called after a step; returns whether training is to stop."""
        return False

    def post_step(self, step: int, session: Any) -> None:
        """Called after `step_end`."""


class EveryN(BaseMonitor):
    """Called for each of the first `first_n_steps` steps, then for every n-th; a base class."""

    def __init__(self, every_n_steps: int = 100, first_n_steps: int = 1) -> None:
        super().__init__()
        self._every_n_steps, self._first_n_steps = every_n_steps, first_n_steps
        self._last_active_step = 0
        self._is_active = False

    def every_n_step_begin(self, step: int) -> list[Any]:
        """`step_begin` of those steps."""
        return []

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        """`step_end` of those steps."""
        return False

    def every_n_post_step(self, step: int, session: Any) -> None:
        """`post_step` of those steps."""

    def step_begin(self, step: int) -> list[Any]:
        due = self._last_active_step + self._every_n_steps
        self._is_active = step <= self._first_n_steps or step >= due or step == self._max_steps
        return self.every_n_step_begin(step) if self._is_active else []

    def step_end(self, step: int, output: Mapping[Any, Any]) -> bool:
        return self._is_active and self.every_n_step_end(step, output)

    def post_step(self, step: int, session: Any) -> None:
        if self._is_active:
            self.every_n_post_step(step, session)
            self._last_active_step = step


class ValidationMonitor(EveryN):
    """Evaluates each new checkpoint, looking every n steps, and stops early if that does not improve.

    x, y, input_fn, batch_size, eval_steps, metrics, hooks, name: for `Estimator.evaluate`. early_stopping_rounds: how
    many steps may pass without a better `early_stopping_metric`.
    """

    def __init__(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        eval_steps: int | None = None,
        every_n_steps: int = 100,
        metrics: Mapping[Any, Any] | None = None,
        hooks: Iterable[SessionRunHook] | None = None,
        early_stopping_rounds: int | None = None,
        early_stopping_metric: str = "loss",
        early_stopping_metric_minimize: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__(every_n_steps, first_n_steps=-1)
        if x is None and input_fn is None:
            raise ValueError("Either x or input_fn should be provided.")
        self._given = {
            "x": x, "y": y, "input_fn": input_fn, "batch_size": batch_size, "steps": eval_steps, "metrics": metrics,
            "hooks": list(hooks or ()), "name": name,
        }  # fmt: skip
        self.early_stopping_rounds = early_stopping_rounds
        self.early_stopping_metric = early_stopping_metric
        self.early_stopping_metric_minimize = early_stopping_metric_minimize
        self._best_step: int | None = None
        self._best_value: Any = None
        self._early_stopped = False
        self._evaluated: str | None = None

    @property
    def early_stopped(self) -> bool:
        return self._early_stopped

    @property
    def best_step(self) -> int | None:
        """The step of the best value so far."""
        return self._best_step

    @property
    def best_value(self) -> Any:
        return self._best_value

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        if self._estimator is None:
            raise ValueError("Missing call to set_estimator.")
        latest = latest_checkpoint(self._estimator.model_dir)
        if latest is None or latest == self._evaluated:
            return False
        self._evaluated = latest
        results = self._evaluate()
        shown = ", ".join(f"{name} = {value}" for name, value in results.items())
        logging.info("Validation (step %d): %s", step, shown)
        return self.early_stopping_rounds is not None and self._is_stale(step, results)

    def _evaluate(self) -> dict[str, Any]:
        if isinstance(self._estimator, CoreEstimator):
            given = {name: self._given[name] for name in ("input_fn", "steps", "hooks", "name")}
            return self._estimator.evaluate(**given)
        return dict(self._estimator.evaluate(**self._given))

    def _is_stale(self, step: int, results: Mapping[str, Any]) -> bool:
        """Whether the best value is older than it may be."""
        if self.early_stopping_metric not in results:
            raise ValueError(f"Metric {self.early_stopping_metric} missing from outputs {set(results)}.")
        value, best = results[self.early_stopping_metric], self._best_value
        if best is None or (value < best if self.early_stopping_metric_minimize else value > best):
            self._best_value, self._best_step = value, step
        assert self.early_stopping_rounds is not None and self._best_step is not None
        if step - self._best_step < self.early_stopping_rounds:
            return False
        logging.info(
            "Stopping. Best step: %s with %s = %s.", self._best_step, self.early_stopping_metric, self._best_value
        )
        self._early_stopped = True
        return True


class PrintTensor(EveryN):
    """Logs tensors: a list of names, or a dict from what they are called to names."""

    def __init__(self, tensor_names: Any, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        named = isinstance(tensor_names, Mapping)
        self._names = dict(tensor_names) if named else {name: name for name in tensor_names}

    def every_n_step_begin(self, step: int) -> list[Any]:
        return list(self._names.values())

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        shown = ", ".join(f"{tag} = {outputs[name]}" for tag, name in self._names.items())
        logging.info("Step %d: %s", step, shown)
        return False


class RunHookAdapterForMonitors(SessionRunHook):
    """A hook that calls monitors."""

    def __init__(self, monitors: Iterable[BaseMonitor]) -> None:
        self._monitors = list(monitors)
        self._last_step: int | None = None

    def begin(self) -> None:
        self._last_step = None
        self._global_step = get_global_step()
        for monitor in self._monitors:
            monitor.begin(max_steps=None)

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._last_step = int(session.run(self._global_step))

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        assert self._last_step is not None, "a session was created"
        self._wanted = {tensor for monitor in self._monitors for tensor in monitor.step_begin(self._last_step + 1)}
        graph = get_default_graph()
        tensors = {tensor: graph.as_graph_element(tensor) for tensor in self._wanted}
        return SessionRunArgs({"values": tensors, "step": self._global_step})

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        assert self._last_step is not None, "a session was created"
        self._last_step += 1
        for monitor in self._monitors:
            if monitor.step_end(self._last_step, run_values.results["values"]):
                run_context.request_stop()
            monitor.post_step(self._last_step, run_context.session)
        self._last_step = max(self._last_step, int(run_values.results["step"]))

    def end(self, session: Any) -> None:
        for monitor in self._monitors:
            monitor.end(session=session)


def replace_monitors_with_hooks(monitors_or_hooks: Any, estimator: Any) -> list[SessionRunHook]:
    """Hooks, with one that calls the monitors among them. TypeError for what is neither."""
    given = list(monitors_or_hooks or [])
    for item in given:
        if not isinstance(item, SessionRunHook | BaseMonitor):
            raise TypeError(f"{item} is neither a SessionRunHook nor a monitor")
    monitors = [item for item in given if isinstance(item, BaseMonitor)]
    for monitor in monitors:
        monitor.set_estimator(estimator)
    hooks = [item for item in given if isinstance(item, SessionRunHook)]
    return [*hooks, RunHookAdapterForMonitors(monitors)] if monitors else hooks
