"""What a program or function says about its trial: `penstock.tune.report`. Nothing here imports Optuna.

A trial has a channel to the search, which may be in another process, or on another machine.
"""

from __future__ import annotations

import itertools
import os
import socket
import threading
from typing import Any, Protocol

import numpy as np

from penstock.cluster.launch.loop import Lines
from penstock.export import export

FOLDER = "PENSTOCK_TUNE_FOLDER"
"""The environment of a trial names its folder here."""


@export("tune.Pruned")
class Pruned(SystemExit):
    """The search has seen enough of this trial. A program that does not catch this ends, and that is no failure."""

    def __init__(self) -> None:
        super().__init__(0)

    def __str__(self) -> str:
        return "The search has seen enough of this trial."


class Channel(Protocol):
    def ask(self, message: dict[str, Any]) -> Any:
        """The search's answer."""


class Connection:
    """To a search in another process, over a socket. Threads take turns."""

    def __init__(self, connection: socket.socket) -> None:
        self._lines, self._lock = Lines(connection), threading.Lock()

    def ask(self, message: dict[str, Any]) -> Any:
        """Raises Pruned if the search is gone, which ends its trials."""
        with self._lock:
            try:
                self._lines.send(message)
                while (found := self._lines.receive()) is not None:
                    if found:
                        return found[0]
            except OSError:
                pass
        raise Pruned


_channel: Channel | None = None
_steps = itertools.count()


def connect(channel: Channel | None) -> None:
    """What this process reports from now on is about the trial of `channel`; None: about none."""
    global _channel, _steps
    _channel, _steps = channel, itertools.count()


def current() -> Channel | None:
    return _channel


def tell(value: Any, step: int | None = None) -> bool:
    """Like `report`, but returns whether the trial is to end."""
    if _channel is None:
        return False
    at = next(_steps) if step is None else int(step)
    return bool(_channel.ask({"do": "report", "value": float(np.asarray(value).item()), "step": at}))


@export("tune.report")
def report(value: Any, step: int | None = None) -> None:
    """Say how good the trial is at `step`; the last value counts. Does nothing outside of a search.

    step: at least 0, increasing; by default 0, 1, 2, …  Raises `Pruned` if the trial is to end because others were
    better by this step. A value that is not finite ends the trial, too; it has then failed.
    """
    if tell(value, step):
        raise Pruned


@export("tune.folder")
def folder() -> str | None:
    """The folder of the trial that this process runs, for checkpoints and such. None outside of a search."""
    return os.environ.get(FOLDER)
