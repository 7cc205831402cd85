"""What `fit` tells callbacks, and the callbacks that every `fit` has (TF: tf.keras.callbacks)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.export import export
from penstock.keras.callbacks.logs import Logs
from penstock.keras.utils import manner
from penstock.keras.utils.progress_bar import Progbar


@export("keras.callbacks.Callback")
class Callback:
    """Told by `fit` what happens; subclasses define what they need. `logs` holds losses and metrics by name.

    `evaluate`, that of `fit` after an epoch, tells `on_test_begin`, `on_test_batch_begin` and so on; `predict`, those
    with `predict`.

    validation_data: the arrays that `fit` evaluates on, None if there are none: inputs, targets, weights of samples.
    """

    model: Any = None
    params: dict[str, Any]
    validation_data: Any = None

    def set_params(self, params: dict[str, Any]) -> None:
        self.params = params

    def set_model(self, model: Any) -> None:
        self.model = model

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None: ...

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None: ...

    def on_batch_begin(self, batch: int, logs: Any = None) -> None: ...

    def on_batch_end(self, batch: int, logs: Any = None) -> None: ...

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.on_batch_end(batch, logs)

    def on_train_begin(self, logs: Any = None) -> None: ...

    def on_train_end(self, logs: Any = None) -> None: ...

    def on_test_begin(self, logs: Any = None) -> None: ...

    def on_test_end(self, logs: Any = None) -> None: ...

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None: ...

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None: ...

    def on_predict_begin(self, logs: Any = None) -> None: ...

    def on_predict_end(self, logs: Any = None) -> None: ...

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None: ...

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None: ...


class CallbackList:
    """Several callbacks as one, for `fit`, which does not call those for batches that define nothing for them, and for
    loops of programs."""

    def __init__(self, callbacks: Any = None, queue_length: int = 10) -> None:
        self.callbacks: list[Any] = list(callbacks or [])
        self.model: Any = None
        self.params: dict[str, Any] = {}

    def begin(self, model: Any, params: dict[str, Any], validation_data: Any) -> None:
        """Say what `fit` is about to do."""
        for callback in self.callbacks:
            callback.validation_data = validation_data
        self.set_params(params)
        self.set_model(model)
        self._batch_begin = [c.on_train_batch_begin for c in self.callbacks if _listens(c, "begin")]
        self._batch_end = [c.on_train_batch_end for c in self.callbacks if _listens(c, "end")]

    def batch_begin(self, batch: int, logs: dict[str, Any]) -> None:
        for tell in self._batch_begin:
            tell(batch, logs)

    def batch_end(self, batch: int, logs: dict[str, Any]) -> None:
        for tell in self._batch_end:
            tell(batch, logs)

    def tell(self, event: str, *args: Any) -> None:
        """Call a method of all."""
        for callback in self.callbacks:
            getattr(callback, event)(*args)

    def hearing(self, event: str) -> list[Any]:
        """That method of those that define it."""
        base = getattr(Callback, event)
        found = [(callback, getattr(callback, event, None)) for callback in self.callbacks]
        return [tell for _, tell in found if tell is not None and getattr(tell, "__func__", tell) is not base]

    # --- for training loops of programs -----------------------------------------------------------------

    def append(self, callback: Any) -> None:
        self.callbacks.append(callback)

    def set_params(self, params: dict[str, Any]) -> None:
        self.params = params
        self.tell("set_params", params)

    def set_model(self, model: Any) -> None:
        self.model = model
        self.tell("set_model", model)

    def on_train_begin(self, logs: Any = None) -> None:
        self.tell("on_train_begin", _logs(logs))

    def on_train_end(self, logs: Any = None) -> None:
        self.tell("on_train_end", _logs(logs))

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.tell("on_epoch_begin", epoch, _logs(logs))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.tell("on_epoch_end", epoch, _logs(logs))

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.tell("on_train_batch_begin", batch, _logs(logs))

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.tell("on_train_batch_end", batch, _logs(logs))

    on_batch_begin, on_batch_end = on_train_batch_begin, on_train_batch_end

    def __iter__(self) -> Iterator[Any]:
        return iter(self.callbacks)


def _logs(logs: Any) -> Any:
    return {} if logs is None else logs


def _listens(callback: Any, when: str) -> bool:
    names = (f"on_train_batch_{when}", f"on_batch_{when}")
    return any(getattr(type(callback), name, None) is not getattr(Callback, name) for name in names)


@export("keras.callbacks.BaseLogger")
class BaseLogger(Callback):
    """Averages what is logged for each batch over the epoch; `stateful_metrics` names those to leave as they are."""

    def __init__(self, stateful_metrics: Any = None) -> None:
        self.stateful_metrics = set(stateful_metrics or ())

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.seen = 0
        self.totals: dict[str, Any] = {}

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        size = (logs or {}).get("size", 0)
        self.seen += size
        for name, value in (logs or {}).items():
            if name in self.stateful_metrics:
                self.totals[name] = value
            elif name not in ("batch", "size"):
                self.totals[name] = self.totals.get(name, 0.0) + float(np.mean(value)) * size

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if logs is not None:
            for name in self.params["metrics"]:
                if name in self.totals:
                    total = self.totals[name]
                    logs[name] = total if name in self.stateful_metrics else total / max(self.seen, 1)


@export("keras.callbacks.History")
class History(Callback):
    """What was logged for each epoch: `history` by name, and `epoch`. `fit` returns it."""

    def on_train_begin(self, logs: Any = None) -> None:
        self.epoch: list[int] = []
        self.history: dict[str, list[Any]] = Logs()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


@export("keras.callbacks.ProgbarLogger")
class ProgbarLogger(Callback):
    """Prints how far an epoch has come, by samples or by steps, and what was logged for it."""

    def __init__(self, count_mode: str = "samples", stateful_metrics: Any = None) -> None:
        if count_mode not in ("samples", "steps"):
            raise ValueError(f"Unknown `count_mode`: {count_mode}")
        self.use_steps = count_mode == "steps"
        self.stateful_metrics = set(stateful_metrics or ())

    def on_train_begin(self, logs: Any = None) -> None:
        self.verbose, self.epochs = self.params["verbose"], self.params["epochs"]

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if self.verbose and manner.of_now.has_header(self.epochs):
            print(f"Epoch {epoch + 1}/{self.epochs}")
        self.target = self.params["steps" if self.use_steps else "samples"]
        unit = manner.of_now.unit(self.use_steps)
        self.progbar = Progbar(
            self.target, verbose=self.verbose, stateful_metrics=self.stateful_metrics, unit_name=unit
        )
        self.seen = 0

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        logs = logs or {}
        self.seen += 1 if self.use_steps else logs.get("size", 0)
        self.log_values = [(name, logs[name]) for name in self.params["metrics"] if name in logs]
        # The epoch's last line also has the values of validation, which follow.
        if self.verbose and (self.target is None or self.seen < self.target):
            self.progbar.update(self.seen, self.log_values)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if not self.verbose:
            return
        shown = [(name, (logs or {})[name]) for name in self.params["metrics"] if name in (logs or {})]
        self.progbar.stateful_metrics |= {name for name, _ in shown}  # they are means over the epoch already
        self.progbar.target = self.seen
        self.progbar.update(self.seen, shown)
