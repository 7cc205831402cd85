"""Callbacks that write files (TF: tf.keras.callbacks)."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from penstock.export import export
from penstock.keras.callbacks.base import Callback
from penstock.keras.callbacks.control import better, logged
from penstock.keras.callbacks.logs import Logs


@export("keras.callbacks.ModelCheckpoint")
class ModelCheckpoint(Callback):
    """Saves the model, or its weights, every `period` epochs; with `save_best_only` if the monitored value is the best.

    `filepath` may contain the epoch and what is logged: "weights.{epoch:02d}-{val_loss:.2f}.h5".
    """

    def __init__(
        self,
        filepath: str,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        period: int = 1,
        **kwargs: Any,
    ) -> None:
        self.monitor, self.verbose, self.filepath, self.period = monitor, verbose, filepath, period
        self.save_best_only, self.save_weights_only = save_best_only, save_weights_only
        self.epochs_since_last_save = 0
        self.monitor_op = better(mode, monitor, "ModelCheckpoint")
        self.best = np.inf if self.monitor_op is np.less else -np.inf

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.epochs_since_last_save += 1
        if self.epochs_since_last_save < self.period:
            return
        self.epochs_since_last_save = 0
        filepath = str(self.filepath).format_map(Logs(logs or {}, epoch=epoch + 1))
        if self.save_best_only:
            current = logged(self, logs, "Can save best model only: it is")
            if current is None:
                return
            if not self.monitor_op(current, self.best):
                self._tell(epoch, f"{self.monitor} did not improve from {self.best:0.5f}")
                return
            before = f"{self.monitor} improved from {self.best:0.5f} to {current:0.5f}, "
            self.best = current
        else:
            before = ""
        self._tell(epoch, f"{before}saving model to {filepath}")
        if self.save_weights_only:
            self.model.save_weights(filepath, overwrite=True)
        else:
            self.model.save(filepath, overwrite=True)

    def _tell(self, epoch: int, what: str) -> None:
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: {what}")


@export("keras.callbacks.CSVLogger")
class CSVLogger(Callback):
    """Writes what is logged for each epoch as a row of a CSV file; `append` goes on with one that exists."""

    def __init__(self, filename: Any, separator: str = ",", append: bool = False) -> None:
        self.filename, self.sep, self.append = filename, separator, append
        self.keys: list[str] | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        path = Path(self.filename)
        self._headed = self.append and path.exists() and path.stat().st_size > 0
        self._file = open(path, "a" if self.append else "w", newline="")  # noqa: SIM115 (until training ends)
        self.append = True

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        logs = logs or {}
        if self.keys is None:
            self.keys = sorted(logs)
        writer = csv.DictWriter(
            self._file, ["epoch", *self.keys], delimiter=self.sep, extrasaction="ignore", restval="NA"
        )
        if not self._headed:
            writer.writeheader()
            self._headed = True
        writer.writerow({"epoch": epoch, **logs})
        self._file.flush()

    def on_train_end(self, logs: Any = None) -> None:
        self._file.close()
