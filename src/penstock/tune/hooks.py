"""Early stopping: hooks and callbacks that report how a trial goes, and end it when the search says so."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.keras.callbacks.base import Callback
from penstock.keras.callbacks.control import logged
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from penstock.training_loop.global_steps import needed_global_step
from penstock.training_loop.hooks import as_graph_element
from penstock.training_loop.timers import SecondOrStepTimer
from penstock.tune import reporting


@export("tune.PruningHook")
class PruningHook(SessionRunHook):
    """Reports a tensor's value with the global step, and stops the loop of a trial that is not worth going on.

    Outside of a search it does nothing. `tf.train.MonitoredTrainingSession(hooks=[tf.tune.PruningHook(loss)])`
    """

    def __init__(self, tensor: Any, every_n_steps: int | None = None, every_n_secs: float | None = None) -> None:
        """tensor: a scalar, or its name. By default it is reported every 100 steps, and with the last step."""
        if every_n_steps is None and every_n_secs is None:
            every_n_steps = 100
        self._tensor, self._timer = tensor, SecondOrStepTimer(every_n_secs, every_n_steps)
        self._unreported: Any = None

    def begin(self) -> None:
        self._timer.reset()
        self._global_step_tensor = needed_global_step(self)
        self._value = as_graph_element(self._tensor)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        if reporting.current() is None:
            return None
        return SessionRunArgs((self._value, self._global_step_tensor))

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if run_values.results is None:
            return
        self._unreported, before = run_values.results
        if self._timer.should_trigger_for_step(int(before) + 1):
            step = int(run_context.session.run(self._global_step_tensor))
            self._timer.update_last_triggered_step(step)
            if self._report(step):
                run_context.request_stop()

    def end(self, session: Any) -> None:
        if self._unreported is not None:
            self._report(int(session.run(self._global_step_tensor)))

    def _report(self, step: int) -> bool:
        value, self._unreported = self._unreported, None
        return reporting.tell(value, step)


@export("tune.PruningCallback")
class PruningCallback(Callback):
    """Reports a value that `fit` logs for each epoch, and stops the training of a trial that is not worth going on.

    Outside of a search it does nothing. `model.fit(x, y, validation_split=0.2, callbacks=[tf.tune.PruningCallback()])`
    """

    def __init__(self, monitor: str = "val_loss") -> None:
        self.monitor = monitor

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if reporting.current() is None:
            return
        value = logged(self, logs, "Pruning")
        if value is not None and reporting.tell(value, epoch):
            self.model.stop_training = True
