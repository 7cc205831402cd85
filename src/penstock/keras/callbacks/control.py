"""Callbacks that change or stop training (TF: tf.keras.callbacks)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from penstock.export import export
from penstock.keras import backend as K
from penstock.keras.callbacks.base import Callback
from penstock.keras.callbacks.logs import Logs


def better(mode: str, monitor: str, where: str) -> Any:
    """A function that says whether its first argument is the better one."""
    if mode not in ("auto", "min", "max"):
        warnings.warn(f"{where} mode {mode} is unknown, fallback to auto mode.", RuntimeWarning, stacklevel=3)
        mode = "auto"
    if mode == "auto":
        mode = "max" if "acc" in monitor or monitor.startswith("fmeasure") else "min"
    return np.less if mode == "min" else np.greater


def logged(callback: Any, logs: Any, what: str) -> Any:
    """The monitored value, or None with a warning."""
    value = Logs(logs or {}).get(callback.monitor)
    if value is None:
        known = ",".join((logs or {}).keys())
        warnings.warn(
            f"{what} conditioned on metric `{callback.monitor}` which is not available. Available metrics are: {known}",
            RuntimeWarning,
            stacklevel=3,
        )
    return value


@export("keras.callbacks.EarlyStopping")
class EarlyStopping(Callback):
    """Stops when the monitored value has not improved by more than `min_delta` for `patience` epochs."""

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        self.monitor, self.patience, self.verbose, self.baseline = monitor, patience, verbose, baseline
        self.restore_best_weights = restore_best_weights
        self.monitor_op = better(mode, monitor, "EarlyStopping")
        self.min_delta = abs(min_delta) if self.monitor_op is np.greater else -abs(min_delta)

    def on_train_begin(self, logs: Any = None) -> None:
        self.wait, self.stopped_epoch = 0, 0
        worst = np.inf if self.monitor_op is np.less else -np.inf
        self.best = worst if self.baseline is None else self.baseline
        self.best_weights: Any = None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        current = logged(self, logs, "Early stopping")
        if current is None:
            return
        if self.monitor_op(current - self.min_delta, self.best):
            self.best, self.wait = current, 0
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch = epoch
            self.model.stop_training = True
            if self.best_weights is not None:
                if self.verbose:
                    print("Restoring model weights from the end of the best epoch.")
                self.model.set_weights(self.best_weights)

    def on_train_end(self, logs: Any = None) -> None:
        if self.stopped_epoch > 0 and self.verbose:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")


@export("keras.callbacks.ReduceLROnPlateau")
class ReduceLROnPlateau(Callback):
    """Multiplies the learning rate by `factor` when the monitored value has not improved for `patience` epochs."""

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
        **kwargs: Any,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("ReduceLROnPlateau does not support a factor >= 1.0.")
        self.monitor, self.factor, self.patience, self.verbose = monitor, factor, patience, verbose
        self.min_delta, self.cooldown, self.min_lr = kwargs.pop("epsilon", min_delta), cooldown, min_lr
        self.mode = mode
        self._reset()

    def _reset(self) -> None:
        self._improved = better(self.mode, self.monitor, "Learning Rate Plateau Reducing")
        self.best = np.inf if self._improved is np.less else -np.inf
        self.cooldown_counter = self.wait = 0

    def on_train_begin(self, logs: Any = None) -> None:
        self._reset()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if logs is not None:
            logs["lr"] = float(K.get_value(self.model.optimizer.lr))
        current = logged(self, logs, "Reduce LR on plateau")
        if current is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        margin = -self.min_delta if self._improved is np.less else self.min_delta
        if self._improved(current, self.best + margin):
            self.best, self.wait = current, 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            rate = float(K.get_value(self.model.optimizer.lr))
            if self.wait >= self.patience and rate > self.min_lr:
                rate = max(rate * self.factor, self.min_lr)
                K.set_value(self.model.optimizer.lr, rate)
                if self.verbose:
                    print(f"\nEpoch {epoch + 1:05d}: ReduceLROnPlateau reducing learning rate to {rate}.")
                self.cooldown_counter, self.wait = self.cooldown, 0


@export("keras.callbacks.LearningRateScheduler")
class LearningRateScheduler(Callback):
    """Sets the learning rate for each epoch to `schedule(epoch)` or `schedule(epoch, rate)`."""

    def __init__(self, schedule: Any, verbose: int = 0) -> None:
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if not hasattr(self.model.optimizer, "lr"):
            raise ValueError('Optimizer must have a "lr" attribute.')
        now = float(K.get_value(self.model.optimizer.lr))
        try:
            rate = self.schedule(epoch, now)
        except TypeError:  # a schedule of the epoch alone
            rate = self.schedule(epoch)
        if not isinstance(rate, float | np.float32 | np.float64):
            raise ValueError('The output of the "schedule" function should be float.')
        K.set_value(self.model.optimizer.lr, rate)
        if self.verbose:
            print(f"\nEpoch {epoch + 1:05d}: LearningRateScheduler setting learning rate to {rate}.")

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if logs is not None:
            logs["lr"] = float(K.get_value(self.model.optimizer.lr))


@export("keras.callbacks.TerminateOnNaN")
class TerminateOnNaN(Callback):
    """Stops when a batch's loss is NaN or infinite."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


@export("keras.callbacks.LambdaCallback")
class LambdaCallback(Callback):
    """Calls the given functions."""

    def __init__(
        self,
        on_epoch_begin: Any = None,
        on_epoch_end: Any = None,
        on_batch_begin: Any = None,
        on_batch_end: Any = None,
        on_train_begin: Any = None,
        on_train_end: Any = None,
        **kwargs: Any,
    ) -> None:
        given = {
            "on_epoch_begin": on_epoch_begin,
            "on_epoch_end": on_epoch_end,
            "on_batch_begin": on_batch_begin,
            "on_batch_end": on_batch_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
        }
        vars(self).update({name: function for name, function in given.items() if function is not None}, **kwargs)

    # A class's own methods, so that batches are told to the functions above.
    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.on_batch_end(batch, logs)
