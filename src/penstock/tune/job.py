"""One trial as it is carried out: what runs, where it writes, and what it may use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from penstock.tune.follow import EventScalars, Follower, Output

LOG = "log.txt"
HERE = "{trial}"
"""In the words of a program's command line: the trial's folder."""


class HopelessError(Exception):
    """What is wrong with this trial is wrong with all of them."""


@dataclass(frozen=True)
class Job:
    """number: the trial's. folder: its own, which holds its log. values: of the parameters; None for an objective that
    chooses them itself. program: the words of its command line; empty for a function, whose pickle is `function`.
    metric, pattern: where values are found, if the program does not report them. memory: the most
    bytes that it may allocate. place: the working directory, if there is such a one where the trial runs."""

    number: int
    folder: str
    values: Mapping[str, Any] | None
    program: tuple[str, ...] = ()
    function: str = ""
    metric: str | None = None
    pattern: str | None = None
    memory: int | None = None
    place: str = ""

    @property
    def log(self) -> Path:
        return Path(self.folder) / LOG

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Job:
        return Job(**{**found, "program": tuple(found["program"])})

    def follower(self) -> Follower | None:
        """What finds the values of a program that does not report them."""
        if self.metric is not None:
            return EventScalars(Path(self.folder), self.metric)
        return Output(self.log, self.pattern) if self.pattern is not None else None


def words_of(program: Sequence[str], values: dict[str, Any], folder: str) -> tuple[str, ...]:
    """The command line of a trial."""
    given = [word.replace(HERE, folder) for word in program]
    return tuple(given + [f"--{name}={value}" for name, value in values.items()])


class Told(Protocol):
    """What a crew tells the search about a trial. The answer to what was asked is returned.

    - {"do": "begun"}
    - {"do": "report", "value": 0.5, "step": 3}: whether the trial is to end
    - {"do": "suggest", "kind": "float", "name": "x", "limits": {"low": 0, "high": 1}}: {"value": 0.5}, or an "error"
    - {"do": "attribute", "name": "size", "value": 3}
    - {"do": "pruned"}: it has ended early, by its own decision or the search's
    - {"do": "result", "value": 0.5}: what a function has returned
    - {"do": "failed", "why": "ValueError: …", "hopeless": false}: hopeless if all other trials will fail, too
    - {"do": "missing", "why": "it printed nothing that …"}: there are no values where they should be
    - {"do": "lost", "why": "its Ray actor died: …"}: for no fault of its own; then it has not `ended`
    - {"do": "ended", "how": "ended with status 1"}: always the last; empty if nothing was wrong
    """

    def __call__(self, number: int, message: Mapping[str, Any]) -> Any: ...


class Crew(Protocol):
    """Carries out jobs. `told` is called by `start` and `turn` only."""

    places: int
    """How many jobs run at the same time."""

    def start(self, job: Job) -> None: ...

    def turn(self, seconds: float) -> None:
        """Wait so long for something to happen, and tell of it."""

    def stop(self, number: int, why: str) -> None:
        """Kill a job, if it runs. Then it `ended`, and `why` says how."""

    def close(self) -> None:
        """Nothing runs any more when this returns."""
