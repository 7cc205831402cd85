"""Programs that are started once for each task: each dies, and is started again by its user."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from penstock.cluster.spec import full_name
from tests.cluster.chaos.between_run import NAMES, running_between
from tests.cluster.chaos.run import suffer_between
from tests.cluster.chaos.stage import Outcome


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_killed_tasks_that_their_user_starts_again_rejoin(mode: str, tmp_path: Path) -> None:
    with running_between(tmp_path / "run", mode) as run:
        run.wait_for_step(time.monotonic())
        for name in reversed(NAMES):
            os.kill(run.all_run()[full_name(name)], signal.SIGKILL)
            run.wait_for_step(time.monotonic())


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "seed"), [("async", 1), ("sync", 2)])
def test_programs_survive_faults_at_any_moment(mode: str, seed: int, tmp_path: Path) -> None:
    outcomes: list[Outcome] = []
    suffer_between(tmp_path / "run", mode, seed, outcomes, faults=8)
    assert sum(outcome.faults for outcome in outcomes) >= 4
