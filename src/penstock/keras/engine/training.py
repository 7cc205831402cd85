"""The loops of `fit`, `evaluate` and `predict` over batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.keras.callbacks.base import BaseLogger, CallbackList, History, ProgbarLogger
from penstock.keras.callbacks.logs import Logs
from penstock.keras.engine.batches import Arrays, Source
from penstock.keras.nested import flat, one_or_list
from penstock.keras.utils.progress_bar import Progbar


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
    stateful = model.stateful_metric_names
    history = History()
    listeners: list[Any] = [BaseLogger(stateful)]
    if verbose:
        listeners.append(ProgbarLogger("steps" if by_steps else "samples", stateful))
    listeners += [*flat(callbacks), history]
    with_validation = [*names, *(f"val_{name}" for name in names)] if validation is not None else list(names)
    params = {
        "batch_size": getattr(source, "_size", None),
        "epochs": epochs,
        "steps": source.steps,
        "samples": source.samples,
        "verbose": verbose,
        "do_validation": validation is not None,
        "metrics": with_validation,
    }
    told = CallbackList(listeners)
    told.begin(model, params, validation.arrays if isinstance(validation, Arrays) else None)
    model.history = history
    model.stop_training = False
    if verbose and source.samples is not None and not by_steps:
        also = f", validate on {validation.samples} samples" if validation is not None and validation.samples else ""
        print(f"Train on {source.samples} samples{also}")
    told.tell("on_train_begin")
    try:
        for epoch in range(initial_epoch, epochs):
            model.reset_metrics()
            told.tell("on_epoch_begin", epoch, {})
            done = _epoch(model, source, step, names, told)
            logs = Logs()
            if validation is not None and done and _is_due(epoch + 1, validation_freq):
                values = evaluate(model, validation, told=told)
                logs.update({f"val_{name}": value for name, value in zip(names, values, strict=True)})
            told.tell("on_epoch_end", epoch, logs)
            if model.stop_training or not done:
                break
        told.tell("on_train_end")
    finally:
        source.close()
        if validation is not None:
            validation.close()
    return history


def _epoch(model: Any, source: Source, step: Any, names: list[str], told: CallbackList) -> int:
    """One epoch; returns how many steps it had."""
    done = 0
    for i, batch in enumerate(source.epoch()):
        logs = Logs(batch=i, size=batch.size)
        told.batch_begin(i, logs)
        logs.update(zip(names, step(batch), strict=True))
        told.batch_end(i, logs)
        done += 1
        if model.stop_training:
            break
    return done


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
    size = getattr(source, "_size", None)
    told.set_params({"batch_size": size, "steps": source.steps, "samples": source.samples, "verbose": verbose})
    told.set_model(model)
    return told


def evaluate(model: Any, source: Source, verbose: int = 0, told: CallbackList | None = None) -> list[float]:
    """The loss and metrics over an epoch: means over samples, but stateful metrics as they are at the end."""
    tell, names = _Told(told, "test"), model.reported_names()
    tell("begin", {})
    step = model.step_function("test")
    model.reset_metrics()
    stateful = {model.metrics_names.index(name) for name in model.stateful_metric_names}
    bar = _bar(source, verbose)
    totals: Any = None
    seen = 0
    for i, batch in enumerate(source.epoch()):
        logs = Logs(batch=i, size=batch.size)
        tell("batch_begin", i, logs)
        values = [float(np.mean(value)) for value in step(batch)]
        logs.update(zip(names, values, strict=True))
        tell("batch_end", i, logs)
        seen += batch.size
        parts = [value if j in stateful else value * batch.size for j, value in enumerate(values)]
        if totals is None:
            totals = parts
        else:
            totals = [
                new if j in stateful else old + new for j, (old, new) in enumerate(zip(totals, parts, strict=True))
            ]
        if bar is not None:
            bar.update(i + 1 if source.samples is None else seen)
    if totals is None:
        raise ValueError("There is nothing to evaluate: no batches.")
    tell("end", {})
    return [total if j in stateful else total / seen for j, total in enumerate(totals)]


def predict(model: Any, source: Source, verbose: int = 0, told: CallbackList | None = None) -> Any:
    """The outputs for all samples."""
    tell = _Told(told, "predict")
    tell("begin", {})
    step = model.step_function("predict")
    bar = _bar(source, verbose)
    outputs: list[list[Any]] = []
    seen = 0
    for i, batch in enumerate(source.epoch()):
        logs = Logs(batch=i, size=batch.size)
        tell("batch_begin", i, logs)
        outputs.append(step(batch))
        tell("batch_end", i, logs)
        seen += batch.size
        if bar is not None:
            bar.update(i + 1 if source.samples is None else seen)
    if not outputs:
        raise ValueError("There is nothing to predict: no batches.")
    tell("end", {})
    return one_or_list([np.concatenate(parts) for parts in zip(*outputs, strict=True)])


def _bar(source: Source, verbose: int) -> Any:
    return Progbar(source.samples or source.steps, verbose=verbose) if verbose == 1 else None
