"""`TrainSpec` and `EvalSpec`: what `train_and_evaluate` trains and evaluates with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

from penstock.estimator.exporter import Exporter
from penstock.export import export
from penstock.train.session_run_hook import SessionRunHook
from penstock.training_loop.saving_hooks import CheckpointSaverListener


class _TrainFields(NamedTuple):
    input_fn: Callable[..., Any]
    max_steps: int | None
    hooks: tuple[SessionRunHook, ...]
    saving_listeners: tuple[CheckpointSaverListener, ...]


@export("estimator.TrainSpec")
class TrainSpec(_TrainFields):
    """How to train: see `Estimator.train` (TF: tf.estimator.TrainSpec)."""

    def __new__(
        cls, input_fn: Callable[..., Any], max_steps: int | None = None, hooks: Any = None, saving_listeners: Any = None
    ) -> Self:
        _check_input_fn(input_fn)
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        listeners = tuple(saving_listeners or ())
        for listener in listeners:
            if not isinstance(listener, CheckpointSaverListener):
                raise TypeError(f"saving_listeners must be a list of CheckpointSaverListener, given: {listener}")
        return super().__new__(cls, input_fn, max_steps, _checked_hooks(hooks), listeners)


class _EvalFields(NamedTuple):
    input_fn: Callable[..., Any]
    steps: int | None
    name: str | None
    hooks: tuple[SessionRunHook, ...]
    exporters: tuple[Exporter, ...]
    start_delay_secs: float
    throttle_secs: float


@export("estimator.EvalSpec")
class EvalSpec(_EvalFields):
    """How to evaluate, and what to export afterwards (TF: tf.estimator.EvalSpec).

    steps, name, hooks: as for `Estimator.evaluate`; `steps` None is all input. throttle_secs: the shortest time from
    one evaluation to the next. start_delay_secs: how long an evaluator of its own waits at first.
    """

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        steps: int | None = 100,
        name: str | None = None,
        hooks: Any = None,
        exporters: Any = None,
        start_delay_secs: float = 120,
        throttle_secs: float = 600,
    ) -> Self:
        _check_input_fn(input_fn)
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"`name` must be string, given: {name}")
        for what, seconds in (("start_delay_secs", start_delay_secs), ("throttle_secs", throttle_secs)):
            if seconds < 0:
                raise ValueError(f"Must specify {what} >= 0, given: {seconds}")
        given = _checked_exporters(exporters)
        return super().__new__(
            cls, input_fn, steps, name, _checked_hooks(hooks), given, start_delay_secs, throttle_secs
        )


def _check_input_fn(input_fn: Any) -> None:
    if not callable(input_fn):
        raise TypeError(f"`input_fn` must be callable, given: {input_fn}")


def _checked_hooks(hooks: Iterable[Any] | None) -> tuple[SessionRunHook, ...]:
    checked = tuple(hooks or ())
    for hook in checked:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks must be `SessionRunHook` instances, given: {hook}")
    return checked


def _checked_exporters(exporters: Any) -> tuple[Exporter, ...]:
    if not exporters:
        return ()
    given = tuple(exporters) if isinstance(exporters, Iterable) else (exporters,)
    names: set[str] = set()
    for exporter in given:
        if not isinstance(exporter, Exporter):
            raise TypeError(f"`exporters` must be an Exporter, an iterable of Exporter, or `None`, found {exporter}.")
        if not exporter.name:
            raise ValueError(f"An Exporter cannot have a name that is `None` or empty. All exporter names: {names}")
        if not isinstance(exporter.name, str):
            raise ValueError(f"An Exporter must have a string name. Given: {type(exporter.name)}")
        if exporter.name in names:
            raise ValueError(f"`exporters` must have unique names. Found: {exporter.name} twice")
        names.add(exporter.name)
    return given
