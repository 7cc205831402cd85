"""What a worker reports, as it crosses the process boundary: one JSON line with a `Result` or a `Failure`."""

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
    settle_s: float  # of steps after the first, until what is compiled in the background was there
    median_s: float  # of a step, or of what else the workload measures
    q1_s: float
    q3_s: float
    mean_s: float  # of the same
    cold_s: float | None  # of a step, on average over the first seconds, the first step included; None where no step is
    steps: int  # timed steps behind the median
    peak_mib: float  # of resident memory, above what is resident when the framework has been imported
    other_cores: float | None  # that other programs used meanwhile; None where unknown
    check: tuple[float, ...]  # what the first steps returned


@dataclass(frozen=True)
class Failure:
    """Why a process measured nothing."""

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
