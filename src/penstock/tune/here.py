"""Trials in the process of the search, one after the other: easy to debug, but what crashes one ends the search."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import Any

from penstock.tune import reporting
from penstock.tune.functions import call
from penstock.tune.job import Job, Told
from penstock.tune.reporting import Pruned
from penstock.tune.trial_process import describe


class Here:
    """A `Crew`."""

    places = 1

    def __init__(self, told: Told, function: Callable[[Any], Any]) -> None:
        self._told, self._function = told, function

    def start(self, job: Job) -> None:
        def ask(message: Mapping[str, Any]) -> Any:
            return self._told(job.number, message)

        channel = _Direct(ask)
        before = reporting.current()
        reporting.connect(channel)
        ask({"do": "begun"})
        try:
            ask({"do": "result", "value": call(self._function, job.number, job.values, channel)})
        except Pruned:
            ask({"do": "pruned"})
        except Exception as error:
            job.log.parent.mkdir(parents=True, exist_ok=True)
            job.log.write_text(traceback.format_exc())
            ask({"do": "failed", "why": describe(error)})
        finally:
            reporting.connect(before)
        ask({"do": "ended", "how": ""})

    def turn(self, seconds: float) -> None:
        """Nothing is left to wait for."""

    def stop(self, number: int, why: str) -> None:
        """It has ended."""

    def close(self) -> None:
        """Nothing runs."""


class _Direct:
    def __init__(self, ask: Callable[[Mapping[str, Any]], Any]) -> None:
        self._ask = ask

    def ask(self, message: dict[str, Any]) -> Any:
        return self._ask(message)
