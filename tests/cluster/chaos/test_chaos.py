"""A few faults of each kind: whatever happens to tasks, connections and the client, training ends as if nothing had."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.chaos.run import reference, suffer
from tests.cluster.chaos.stage import Outcome

STEPS = 500


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    return reference(tmp_path_factory.mktemp("whole") / "run", STEPS)


@pytest.mark.parametrize(("seed", "faults"), [(1, 6), pytest.param(2, 20, marks=pytest.mark.slow)])
def test_training_through_faults_ends_as_if_there_had_been_none(
    seed: int, faults: int, expected: dict[int, str], tmp_path: Path
) -> None:
    outcomes: list[Outcome] = []
    suffer(tmp_path / "run", seed, expected, outcomes, faults)
    assert sum(outcome.faults for outcome in outcomes) >= faults / 2


@pytest.mark.slow
def test_training_outlives_nodes_of_ray_and_says_when_its_head_is_gone(
    expected: dict[int, str], tmp_path: Path
) -> None:
    pytest.importorskip("ray", reason="Ray is not installed (pip install 'penstock[cluster]')")
    outcomes: list[Outcome] = []
    suffer(tmp_path / "run", 3, expected, outcomes, 3, on="nodes")
    assert sum(outcome.faults for outcome in outcomes) >= 2
