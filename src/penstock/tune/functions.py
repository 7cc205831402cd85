"""Objectives that are functions: of a dictionary of values, or of a trial that they ask for values.

Optuna is not imported here: it takes longer than many objectives.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from penstock.tune.reporting import Channel, Pruned


def call(function: Callable[[Any], Any], number: int, values: Mapping[str, Any] | None, channel: Channel) -> float:
    """What the function returns. Raises Pruned for Optuna's TrialPruned, and TypeError if it is not a number."""
    try:
        found = function(AskedTrial(number, channel) if values is None else dict(values))
    except Exception as error:
        optuna = sys.modules.get("optuna")
        if optuna is not None and isinstance(error, optuna.TrialPruned):
            raise Pruned from None
        raise
    try:
        return float(np.asarray(found).item())
    except (TypeError, ValueError):
        raise TypeError(f"the objective returned {found!r}, which is not a number") from None


class AskedTrial:
    """What an Optuna trial is for a function, which may be in another process than the study."""

    def __init__(self, number: int, channel: Channel) -> None:
        self._number, self._channel = number, channel
        self._params: dict[str, Any] = {}
        self._attributes: dict[str, Any] = {}
        self._pruned = False
        self._began = datetime.datetime.now()

    def suggest_float(
        self, name: str, low: float, high: float, *, step: float | None = None, log: bool = False
    ) -> float:
        return float(self._suggest("float", name, low=low, high=high, step=step, log=log))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        return int(self._suggest("int", name, low=low, high=high, step=step, log=log))

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        return self._suggest("categorical", name, choices=list(choices))

    def report(self, value: float, step: int) -> None:
        self._pruned = bool(self._channel.ask({"do": "report", "value": float(value), "step": int(step)}))

    def should_prune(self) -> bool:
        return self._pruned

    def set_user_attr(self, key: str, value: Any) -> None:
        self._attributes[key] = value
        self._channel.ask({"do": "attribute", "name": key, "value": value})

    @property
    def params(self) -> dict[str, Any]:
        return dict(self._params)

    @property
    def user_attrs(self) -> dict[str, Any]:
        return dict(self._attributes)

    @property
    def number(self) -> int:
        return self._number

    @property
    def datetime_start(self) -> datetime.datetime:
        return self._began

    def _suggest(self, kind: str, name: str, **limits: Any) -> Any:
        answer = self._channel.ask({"do": "suggest", "kind": kind, "name": name, "limits": limits})
        if "error" in answer:
            raise ValueError(answer["error"])
        self._params[name] = answer["value"]
        return self._params[name]
