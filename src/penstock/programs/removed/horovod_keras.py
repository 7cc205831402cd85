"""Horovod for models of Keras, in a program that is one process (`horovod.keras`, `horovod.tensorflow.keras`).

Facts from Horovod 0.19.5.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from penstock.programs.removed import horovod
from penstock.programs.removed.horovod import COMMON, Compression, OfOneProcess


def _keras() -> Any:
    return importlib.import_module("penstock.keras")


def _value(tensor: Any) -> Any:
    return _keras().backend.get_session().run(tensor)


def _constant(value: Any, name: str | None) -> Any:
    return importlib.import_module("penstock").constant(value, name=name)


def allreduce(value: Any, name: str | None = None, average: bool = True) -> Any:
    """The value itself: a number or an array of NumPy."""
    return _value(horovod.allreduce(_constant(value, name), average=average))


def allgather(value: Any, name: str | None = None) -> Any:
    return _value(horovod.allgather(_constant(value, name)))


def broadcast(value: Any, root_rank: int, name: str | None = None) -> Any:
    return _value(horovod.broadcast(_constant(value, name), root_rank))


def broadcast_global_variables(root_rank: int) -> Any:
    return _value(horovod.broadcast_global_variables(root_rank))


def DistributedOptimizer(
    optimizer: Any,
    name: str | None = None,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = Compression.none,
    sparse_as_dense: bool = False,
) -> Any:
    """A new optimizer of Keras with the same settings."""
    horovod.size()
    return type(optimizer).from_config(optimizer.get_config())


def load_model(
    filepath: str,
    custom_optimizers: Sequence[type] | None = None,
    custom_objects: Mapping[str, Any] | None = None,
    compression: Any = Compression.none,
) -> Any:
    """custom_optimizers: classes, by their names."""
    named = {cls.__name__: cls for cls in custom_optimizers or ()}
    return _keras().models.load_model(filepath, custom_objects={**named, **(custom_objects or {})})


# --- callbacks -------------------------------------------------------------------------------------------


def _callbacks(keras: Any) -> dict[str, type]:
    backend = keras.backend

    class BroadcastGlobalVariablesCallback(keras.callbacks.Callback):
        """The variables have the values of the root, which is this process."""

        def __init__(self, root_rank: int, device: str = "") -> None:
            super().__init__()
            self.root_rank, self.device = root_rank, device

    class MetricAverageCallback(keras.callbacks.Callback):
        """The metrics of an epoch are the means of all processes: of one, its own."""

        def __init__(self, device: str = "") -> None:
            super().__init__()
            self.device = device

    class LearningRateScheduleCallback(keras.callbacks.Callback):
        """From `start_epoch` until `end_epoch`, the learning rate is the first one times a number, or times
        multiplier(epoch): of whole epochs (staircase), or of each batch. Momentum is scaled with it in that batch."""

        def __init__(
            self,
            multiplier: float | Callable[[float], float],
            start_epoch: int = 0,
            end_epoch: int | None = None,
            staircase: bool = True,
            momentum_correction: bool = True,
            steps_per_epoch: int | None = None,
            initial_lr: float | None = None,
        ) -> None:
            super().__init__()
            self.multiplier = multiplier if callable(multiplier) else lambda epoch: multiplier
            self.start_epoch = start_epoch
            self.end_epoch: Any = end_epoch  # None: to the end
            self.staircase = staircase or not callable(multiplier)
            self.momentum_correction = momentum_correction
            self.steps_per_epoch: Any = steps_per_epoch  # None until training begins
            self.initial_lr: Any = initial_lr  # None until training begins
            self.current_epoch = 0
            self._momentum: float | None = None

        def on_train_begin(self, logs: Any = None) -> None:
            if self.initial_lr is None:
                self.initial_lr = backend.get_value(self.model.optimizer.lr)
            if not self.staircase and not self.steps_per_epoch:
                self.steps_per_epoch = self._steps()

        def _steps(self) -> int:
            if self.params.get("steps"):
                return self.params["steps"]
            if self.params.get("samples") and self.params.get("batch_size"):
                return self.params["samples"] // self.params["batch_size"]
            raise ValueError(f"{type(self).__name__} needs steps_per_epoch= here")

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.current_epoch = epoch

        def on_batch_begin(self, batch: int, logs: Any = None) -> None:
            ended = self.end_epoch is not None and self.current_epoch >= self.end_epoch
            if self.current_epoch < self.start_epoch or ended:
                return
            if not self.staircase:
                self._adjust(self.current_epoch + batch / self.steps_per_epoch)
            elif batch == 0:
                self._adjust(self.current_epoch)

        def _adjust(self, epoch: float) -> None:
            optimizer = self.model.optimizer
            old, new = backend.get_value(optimizer.lr), self.initial_lr * self.multiplier(epoch)
            backend.set_value(optimizer.lr, new)
            if hasattr(optimizer, "momentum") and self.momentum_correction:
                self._momentum = backend.get_value(optimizer.momentum)
                backend.set_value(optimizer.momentum, self._momentum * new / old)

        def on_batch_end(self, batch: int, logs: Any = None) -> None:
            if self._momentum:
                backend.set_value(self.model.optimizer.momentum, self._momentum)
                self._momentum = None

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            if logs is not None:
                logs["lr"] = backend.get_value(self.model.optimizer.lr)

    class LearningRateWarmupCallback(LearningRateScheduleCallback):
        """From the rate of one process to that of all, in some epochs: of one, it stays as it is."""

        def __init__(
            self,
            warmup_epochs: int = 5,
            momentum_correction: bool = True,
            steps_per_epoch: int | None = None,
            verbose: int = 0,
            initial_lr: float | None = None,
        ) -> None:
            super().__init__(
                lambda epoch: 1.0, 0, warmup_epochs, False, momentum_correction, steps_per_epoch, initial_lr
            )
            self.verbose = verbose

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            super().on_epoch_end(epoch, logs)
            if epoch == self.end_epoch - 1 and self.verbose > 0:
                rate = backend.get_value(self.model.optimizer.lr)
                print(f"\nEpoch {epoch + 1}: finished gradual learning rate warmup to {rate:g}.")

    made = (
        BroadcastGlobalVariablesCallback,
        MetricAverageCallback,
        LearningRateScheduleCallback,
        LearningRateWarmupCallback,
    )
    return {each.__name__: each for each in made}


class _OfCallbacks(OfOneProcess):
    def make(self, name: str) -> ModuleType:
        module = super().make(name)
        vars(module).update(_callbacks(_keras()))
        return module


class _OfKeras(OfOneProcess):
    def make(self, name: str) -> ModuleType:
        module = super().make(name)
        vars(module)["callbacks"] = MODULES[f"{name}.callbacks"].make(f"{name}.callbacks")
        return module


_FUNCTIONS = (
    allreduce,
    allgather,
    broadcast,
    broadcast_global_variables,
    DistributedOptimizer,
    load_model,
    Compression,
)
_NAMES = {**COMMON, **{each.__name__: each for each in _FUNCTIONS}}
MODULES: dict[str, OfOneProcess] = {
    f"{package}{part}": kind(None, names)
    for package in ("horovod.keras", "horovod.tensorflow.keras")
    for part, kind, names in (("", _OfKeras, _NAMES), (".callbacks", _OfCallbacks, {}))
}
