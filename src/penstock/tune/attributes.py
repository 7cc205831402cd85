"""What a search notes of its trials, as user attributes of Optuna's, who runs them, and what a study knows by now."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

ERROR, FOLDER, OWNER, REPEATS = "error", "folder", "owner", "repeats"


def owner() -> dict[str, Any]:
    """This process, so that others can see whether it still runs."""
    return {"host": socket.gethostname(), "pid": os.getpid(), "born": _born(os.getpid())}


def is_dead(noted: Mapping[str, Any]) -> bool:
    """Of a process on another machine, nobody knows."""
    return noted["host"] == socket.gethostname() and noted["born"] != _born(noted["pid"])


def _born(pid: int) -> str:
    """When it was started: numbers of processes are used again. Empty if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if stat[0] in "ZX" else stat[19]


def best_of(study: optuna.Study) -> FrozenTrial | None:
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    sign = -1 if study.direction == optuna.study.StudyDirection.MAXIMIZE else 1
    return min(trials, key=lambda trial: sign * float(trial.value or 0.0), default=None)


def parameters_of(study: optuna.Study) -> list[str]:
    """Names of all that trials had, in the order in which they were first asked for."""
    return list(dict.fromkeys(name for trial in study.get_trials(deepcopy=False) for name in trial.params))
