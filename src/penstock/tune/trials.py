"""The loop of a search: ask the sampler, have trials carried out, tell the study how they went."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import optuna
from optuna.trial import FrozenTrial, Trial, TrialState

from penstock import errors
from penstock.tune.attributes import ERROR, FOLDER, OWNER, REPEATS, owner
from penstock.tune.job import Crew, Job
from penstock.tune.observations import COST, LOST

HOPELESS = 3
"""If so many trials have failed, and none has not, the others would fail as well."""

_TURN_S = 0.5


@dataclass
class _Trial:
    trial: Trial
    began: float = math.inf
    values: dict[int, float] = field(default_factory=dict)
    """By step, as reported."""
    result: float | None = None
    why: str = ""
    """What went wrong."""
    missing: str = "call penstock.tune.report, or say where its values are (metric, pattern)"
    """What to say if there is no value."""
    is_pruned: bool = False


class Search:
    """trials: how many the study is to have. job: what carries out a trial. done: called after each.

    timeout: seconds after which no trial begins. trial_timeout: seconds after which a trial has failed.
    """

    def __init__(
        self,
        study: optuna.Study,
        trials: int,
        job: Callable[[Trial], Job],
        done: Callable[[FrozenTrial], None],
        timeout: float | None = None,
        trial_timeout: float | None = None,
    ) -> None:
        self._study, self._wanted, self._job, self._done = study, trials, job, done
        self._trial_timeout = trial_timeout
        self._end = math.inf if timeout is None else time.monotonic() + timeout
        self._running: dict[int, _Trial] = {}
        self._finished = sum(map(counts, study.get_trials(deepcopy=False)))
        self._succeeded = any(trial.state != TrialState.FAIL for trial in study.get_trials(deepcopy=False))
        self._failed = 0
        self._hopeless: str | None = None

    @property
    def running(self) -> int:
        return len(self._running)

    def run(self, crew: Crew) -> None:
        """Raises FailedPreconditionError if all trials fail. Trials that run when this is left are repeated later."""
        self._study._thread_local.in_optimize_loop = True  # samplers that come to an end may stop the study
        self._study._stop_flag = False
        try:
            while self._may_begin() or self._running:
                while self._may_begin() and len(self._running) < crew.places:
                    self._begin(crew)
                if self._running:
                    crew.turn(_TURN_S)
                self._stop_some(crew)
        except BaseException as error:
            interrupted = isinstance(error, KeyboardInterrupt)
            for number in list(self._running):
                trial = self._running.pop(number).trial
                give_up(self._study, trial, "was interrupted" if interrupted else "the search has failed", interrupted)
            raise
        finally:
            self._study._thread_local.in_optimize_loop = False
        if self._hopeless is not None:
            raise errors.FailedPreconditionError(None, None, self._hopeless)

    def told(self, number: int, message: Mapping[str, Any]) -> Any:
        """See `job.Told`."""
        running = self._running.get(number)
        if running is None:
            return True
        match message["do"]:
            case "begun":
                running.began = time.monotonic()
            case "report":
                return self._reported(running, message["value"], message["step"])
            case "suggest":
                return _suggested(running.trial, message["kind"], message["name"], message["limits"])
            case "attribute":
                running.trial.set_user_attr(message["name"], message["value"])
            case "result":
                running.result = message["value"]
            case "pruned":
                running.is_pruned = not running.why
            case "failed":
                running.why = running.why or message["why"]
                if message.get("hopeless"):
                    self._hopeless = message["why"]
            case "missing":
                running.missing = message["why"]
            case "lost":
                give_up(self._study, self._running.pop(number).trial, message["why"])
            case "ended":
                self._ended(number, message["how"])
        return None

    def _may_begin(self) -> bool:
        if self._hopeless is not None or self._study._stop_flag or time.monotonic() > self._end:
            return False
        return self._finished + len(self._running) < self._wanted

    def _begin(self, crew: Crew) -> None:
        trial = self._study.ask()
        trial.set_user_attr(OWNER, owner())
        self._running[trial.number] = _Trial(trial)
        job = self._job(trial)
        trial.set_user_attr(FOLDER, job.folder)
        crew.start(job)

    def _reported(self, running: _Trial, value: float, step: int) -> bool:
        if running.why or running.is_pruned:
            return True
        if not math.isfinite(value):
            running.why = f"reported {value} at step {step}"
            return True
        if step < 0:
            running.why = f"reported a value at step {step}"
            return True
        if step not in running.values:  # Optuna keeps the first of a step, and warns
            running.trial.report(value, step)
        running.values[step] = value
        running.is_pruned = running.trial.should_prune()
        return running.is_pruned

    def _stop_some(self, crew: Crew) -> None:
        for number, running in self._running.items():
            if self._hopeless is not None:
                crew.stop(number, "was stopped, because the others have failed")
            elif self._trial_timeout is not None and time.monotonic() - running.began > self._trial_timeout:
                running.why = running.why or f"took longer than {self._trial_timeout:g} s"
                crew.stop(number, running.why)

    def _ended(self, number: int, how: str) -> None:
        running = self._running.pop(number)
        trial = running.trial
        value = running.result if running.result is not None else _last(running.values)
        if not running.is_pruned:
            running.why = running.why or how
            if not running.why and value is None:
                running.why = f"ended without a value: {running.missing}"
            elif not running.why and not math.isfinite(value or 0.0):
                running.why = f"the objective was {value}"
        with contextlib.suppress(optuna.exceptions.UpdateFinishedTrialError):  # another has given it up
            if COST not in trial.user_attrs:
                trial.set_user_attr(COST, round(max(0.0, time.monotonic() - running.began), 3))
            if running.is_pruned:
                self._study.tell(trial, state=TrialState.PRUNED)
            elif running.why:
                trial.set_user_attr(ERROR, running.why)
                self._study.tell(trial, state=TrialState.FAIL)
            else:
                self._study.tell(trial, value)
        self._finished += 1
        self._count(running)
        self._done(frozen(self._study, number))

    def _count(self, running: _Trial) -> None:
        if not running.why or running.is_pruned:
            self._succeeded = True
            return
        self._failed += 1
        if not self._succeeded and self._failed >= HOPELESS and self._hopeless is None:
            self._hopeless = f"The first {self._failed} trials have failed. The last: {running.why}"


def _suggested(trial: Trial, kind: str, name: str, limits: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {"value": getattr(trial, f"suggest_{kind}")(name, **limits)}
    except (TypeError, ValueError) as error:
        return {"error": str(error)}


def _last(values: Mapping[int, float]) -> float | None:
    return values[max(values)] if values else None


def frozen(study: optuna.Study, number: int) -> FrozenTrial:
    """A trial as it is now."""
    return next(trial for trial in study.get_trials(deepcopy=False) if trial.number == number)


def counts(trial: FrozenTrial) -> bool:
    """Whether it is one of those that were wanted: not one that still runs, or that another repeats."""
    return trial.state.is_finished() and LOST not in trial.user_attrs


def give_up(study: optuna.Study, trial: Trial, why: str, always: bool = False) -> None:
    """The trial has failed for no fault of its own, so it is repeated: once, or always."""
    found = frozen(study, trial.number)
    again = bool(found.params) and (always or REPEATS not in found.user_attrs)
    with contextlib.suppress(optuna.exceptions.UpdateFinishedTrialError):
        trial.set_user_attr(ERROR, why)
        if again:
            trial.set_user_attr(LOST, True)
        study.tell(trial, state=TrialState.FAIL)
        if again:
            study.enqueue_trial(found.params, user_attrs={REPEATS: trial.number})
