"""The loops of `fit`, `evaluate` and `predict` over batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.keras.callbacks.base import BaseLogger, CallbackList, History, ProgbarLogger
from penstock.keras.callbacks.logs import Logs
from penstock.keras.engine.array_source import Arrays
from penstock.keras.engine.batches import Source
from penstock.keras.nested import flat, one_or_list
from penstock.keras.utils import manner


def fit(
    model: Any,
    source: Source,
    epochs: int,
    verbose: int,
    callbacks: Any,
    validation: Source | None,
    initial_epoch: int,
    by_steps: bool,
    validation_freq: Any = 1,
) -> History:
    """Train on `source` for the epochs from `initial_epoch` to `epochs`, and evaluate on `validation` after each, after
    each `validation_freq`-th, or after those of a list of them."""
    step = model.step_function("train")
    names = model.reported_names()
    alone = manner.of_now.alone(names, model.stateful_metric_names)
    history = History()
    listeners: list[Any] = [BaseLogger(alone)]
    if verbose:
        listeners.append(ProgbarLogger("steps" if by_steps else "samples", alone))
    listeners += [*flat(callbacks), history]
    params = manner.of_now.params(source, names, validation is not None, epochs, verbose)
    told = CallbackList(listeners)
    told.begin(model, params, validation.arrays if isinstance(validation, Arrays) else None)
    model.history = history
    model.stop_training = False
    if verbose:
        manner.of_now.announce(source, validation)
    told.tell("on_train_begin", None)
    try:
        for epoch in range(initial_epoch, epochs):
            model.reset_metrics()
            told.tell("on_epoch_begin", epoch, {})
            tally = model.tally(by_steps=False)
            done = _epoch(model, source, step, tally, names, told)
            logs = Logs(zip(names, tally.results(), strict=True) if done and manner.of_now.metrics_first else ())
            if validation is not None and done and _is_due(epoch + 1, validation_freq):
                _take_size(validation, source)
                values = evaluate(model, validation, told=told, by_steps=source.generated)
                logs.update({f"val_{name}": value for name, value in zip(names, values, strict=True)})
            told.tell("on_epoch_end", epoch, logs)
            if model.stop_training or not done:
                break
        told.tell("on_train_end", None)
    finally:
        source.close()
        if validation is not None:
            validation.close()
    return history


def _epoch(model: Any, source: Source, step: Any, tally: Any, names: list[str], told: CallbackList) -> int:
    """One epoch; returns how many steps it had."""
    done = 0
    for i, batch in enumerate(source.epoch()):
        size = source.counted(batch)
        logs = Logs(batch=i, size=size)
        told.batch_begin(i, logs)
        logs.update(zip(names, tally.add(step(batch), batch, size), strict=True))
        told.batch_end(i, logs)
        done += 1
        if model.stop_training:
            break
    return done


def _take_size(validation: Source, source: Source) -> None:
    """Arrays beside batches that a generator makes are evaluated in batches of the size of its last one."""
    if source.generated and isinstance(validation, Arrays) and not validation.by_steps:
        validation.batch_size = source.last_size or validation.batch_size


def _is_due(epoch: int, validation_freq: Any) -> bool:
    return epoch % validation_freq == 0 if isinstance(validation_freq, int) else epoch in validation_freq


class _Told:
    """What callbacks hear of the batches of `evaluate` ("test") or `predict`."""

    def __init__(self, told: CallbackList | None, kind: str) -> None:
        self._of = {
            event: [] if told is None else told.hearing(f"on_{kind}_{event}")
            for event in ("begin", "batch_begin", "batch_end", "end")
        }

    def __call__(self, event: str, *args: Any) -> None:
        for tell in self._of[event]:
            tell(*args)


def told_by(model: Any, callbacks: Any, source: Source, verbose: int) -> CallbackList | None:
    """Callbacks of an `evaluate` or `predict`, which know their model."""
    if not callbacks:
        return None
    told = CallbackList(flat(callbacks))
    told.set_params(
        {"batch_size": source.batch_size, "steps": source.steps, "samples": source.samples, "verbose": verbose}
    )
    told.set_model(model)
    return told


def evaluate(
    model: Any, source: Source, verbose: int = 0, told: CallbackList | None = None, by_steps: bool = False
) -> list[Any]:
    """The loss and metrics over an epoch: the loss is a mean over samples, or where an epoch has steps, over these."""
    tell, names = _Told(told, "test"), model.reported_names()
    tell("begin", {})
    step = model.step_function("test")
    model.reset_metrics()
    tally = model.tally(by_steps or source.by_steps)
    bar = manner.of_now.bar(source, verbose, names)
    seen = 0
    for i, batch in enumerate(source.epoch()):
        size = source.counted(batch)
        logs = Logs(batch=i, size=size)
        tell("batch_begin", i, logs)
        values = tally.add(step(batch), batch, size)
        logs.update(zip(names, values, strict=True))
        tell("batch_end", i, logs)
        seen += 1 if source.by_steps else size
        bar.update(seen, names, values)
    if not seen:
        raise ValueError("There is nothing to evaluate: no batches.")
    tell("end", {})
    results = tally.results()
    bar.end(names, results)
    return results


def predict(model: Any, source: Source, verbose: int = 0, told: CallbackList | None = None) -> Any:
    """The outputs for all samples."""
    tell = _Told(told, "predict")
    tell("begin", {})
    step = model.step_function("predict")
    bar = manner.of_now.bar(source, verbose, [])
    outputs: list[list[Any]] = []
    seen = 0
    for i, batch in enumerate(source.epoch()):
        logs = Logs(batch=i, size=batch.size)
        tell("batch_begin", i, logs)
        outputs.append(step(batch))
        tell("batch_end", i, logs)
        seen += 1 if source.by_steps else batch.size
        bar.update(seen)
    if not outputs:
        raise ValueError("There is nothing to predict: no batches.")
    tell("end", {})
    bar.end()
    return one_or_list([np.concatenate(parts) for parts in zip(*outputs, strict=True)])
