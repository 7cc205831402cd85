"""Metrics of an evaluation: functions, and what they get (TF: tf.contrib.learn.MetricSpec)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from penstock.export import export

_LABELS = ("labels", "label", "targets", "target")
_PREDICTIONS = ("predictions", "prediction", "logits", "logit")
_WEIGHTS = ("weights", "weight")


@export("contrib.learn.MetricSpec")
class MetricSpec:
    """A function of predictions, labels and weights, which are found by the names of its arguments, or are its first
    two arguments.

    Keys choose from dicts of predictions, labels and features (for weights). Without a key, a dict may only have one
    item; without `weight_key` there are no weights. The function returns a tensor, or (value, update_op).

    Raises ValueError if several arguments could be meant, or none for a key.
    """

    def __init__(
        self,
        metric_fn: Callable[..., Any],
        prediction_key: str | None = None,
        label_key: str | None = None,
        weight_key: str | None = None,
    ) -> None:
        names = _argument_names(metric_fn)
        for key, known in ((prediction_key, _PREDICTIONS), (label_key, _LABELS), (weight_key, _WEIGHTS)):
            matching = [name for name in names if name in known]
            if len(matching) > 1:
                raise ValueError(f"Ambiguous arguments of {metric_fn}: {matching}; one of {known} is needed")
            if key and not matching and known is not _PREDICTIONS:
                raise ValueError(f"{metric_fn} has no argument for the key {key!r}, none of {known}")
        self._metric_fn = metric_fn
        self._prediction_key, self._label_key, self._weight_key = prediction_key, label_key, weight_key

    @property
    def prediction_key(self) -> str | None:
        return self._prediction_key

    @property
    def label_key(self) -> str | None:
        return self._label_key

    @property
    def weight_key(self) -> str | None:
        return self._weight_key

    @property
    def metric_fn(self) -> Callable[..., Any]:
        """The function, with `predictions`, `labels` and `weights` as its arguments."""
        return functools.partial(_call, self._metric_fn)

    def __str__(self) -> str:
        return (
            f"MetricSpec(metric_fn={getattr(self._metric_fn, '__name__', self._metric_fn)}, "
            f"prediction_key={self._prediction_key}, label_key={self._label_key}, weight_key={self._weight_key})"
        )

    def create_metric_ops(self, inputs: Any, labels: Any, predictions: Any) -> Any:
        """What the function returns for a model's tensors. Raises ValueError or KeyError if a key does not fit."""
        return self.metric_fn(
            predictions=_chosen("prediction", predictions, self._prediction_key),
            labels=_chosen("label", labels, self._label_key),
            weights=inputs[self._weight_key] if self._weight_key else None,
        )


def _chosen(what: str, given: Any, key: str | None) -> Any:
    """The item of a dict with a key; without a key the only one, or what is no dict."""
    if key:
        if not isinstance(given, Mapping):
            raise ValueError(f"MetricSpec with {what}_key specified requires {what}s dict, got {given}")
        if key not in given:
            raise KeyError(f"Key {key!r} missing from {list(given)}.")
        return given[key]
    if not isinstance(given, Mapping):
        return given
    if len(given) != 1:
        raise ValueError(
            f"MetricSpec without specified {what}_key requires {what}s tensor or single element dict, got {given}"
        )
    return next(iter(given.values()))


def _argument_names(function: Callable[..., Any]) -> list[str]:
    bound = function.keywords if isinstance(function, functools.partial) else {}
    return [name for name in inspect.signature(function).parameters if name not in bound]


def _call(function: Callable[..., Any], predictions: Any, labels: Any, weights: Any = None) -> Any:
    names = _argument_names(function)
    named: dict[str, Any] = {}
    positional = []
    for value, known in ((predictions, _PREDICTIONS), (labels, _LABELS)):
        found = next((name for name in known if name in names), None)
        if found is not None:
            named[found] = value
        else:
            positional.append(value)
    if weights is not None:
        named[next(name for name in _WEIGHTS if name in names)] = weights
    return function(*positional[: len(names) - len(named)], **named)
