"""A worker's report to the parent process: one JSON line with a `Result` or a `Failure`."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Stage = Literal["import", "build", "run", "process", "timeout"]


@dataclass(frozen=True)
class Result:
    """One process's measurement of one workload under one framework. Times are in seconds."""

    framework: str
    workload: str
    version: str
    python: str
    import_s: float
    build_s: float
    first_run_s: float
    settle_s: float  # of steps after the first, until background compilation was done
    median_s: float  # of a step, or of whatever else the workload measures
    q1_s: float
    q3_s: float
    mean_s: float  # of the same
    cold_s: float | None  # of a step, on average over the first seconds, including the first step; None without steps
    steps: int  # timed steps behind the median
    peak_mib: float  # of resident memory, less the size after the framework's import
    other_cores: float | None  # that other programs used meanwhile; None if unknown
    check: tuple[float, ...]  # what the first steps returned


@dataclass(frozen=True)
class Failure:
    """The reason why a process measured nothing."""

    framework: str
    workload: str
    stage: Stage
    message: str  # one line
    details: str = ""  # the traceback


def to_json(outcome: Result | Failure) -> str:
    return json.dumps({type(outcome).__name__: dataclasses.asdict(outcome)})


def from_json(line: str) -> Result | Failure:
    """The inverse of `to_json`. Raises ValueError for any other line, such as a framework's chatter."""
    try:
        [(kind, fields)] = json.loads(line).items()
        if kind == "Result":
            return Result(**{**fields, "check": tuple(fields["check"])})
        if kind == "Failure":
            return Failure(**fields)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"not a worker's report: {line[:80]!r}") from error
    raise ValueError(f"not a worker's report: {line[:80]!r}")


def relative_difference(values: Sequence[float], expected: Sequence[float]) -> float:
    """The largest |value - expected| / |expected|; NaN never counts as equal."""
    if len(values) != len(expected):
        return math.inf
    worst = 0.0
    for value, want in zip(values, expected, strict=True):
        difference = abs(value - want) / max(abs(want), 1e-30)
        worst = max(worst, math.inf if math.isnan(difference) else difference)
    return worst
