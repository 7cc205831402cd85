"""Published figures of training at scale, predicted."""

import numpy as np
import pytest

from bench import scale
from penstock.placement import ReplicaStep, simulate_training


@pytest.fixture(scope="module")
def step() -> ReplicaStep:
    return scale.inception()


def test_inceptions_step_has_its_parameters_and_arithmetic(step: ReplicaStep) -> None:
    """23.85 million variables; 5.7 billion multiplications and additions forward for each image, three times that with
    the gradients, at 4.29 TFLOP/s."""
    assert step.pull / 4 == pytest.approx(23.85e6, rel=0.01)
    assert step.push == pytest.approx(step.pull, rel=0.01)
    assert step.seconds > 3 * 2 * 5.7e9 * 32 / 4.29e12 * 0.98
    assert step.seconds < 0.5  # element-wise nodes take the rest


@pytest.mark.parametrize(("gpus", "speedup"), scale.BOOK.items())
def test_the_books_scaling_is_predicted_within_ten_points(step: ReplicaStep, gpus: int, speedup: float) -> None:
    cluster = scale.cluster_of(scale.SERVERS)
    found = simulate_training(step.lasting(scale.STEP), cluster, gpus, jitter=scale.CALM, steps=20)
    assert abs(found.efficiency - speedup / gpus) < 0.10


def test_the_first_backup_workers_help_and_the_last_hinder(step: ReplicaStep) -> None:
    cluster, later = scale.cluster_of(scale.LATER_SERVERS), step.lasting(scale.LATER_STEP)
    medians = [
        float(np.median(simulate_training(later, cluster, 50, backup=b, jitter=scale.SHARED, steps=60).seconds))
        for b in (0, 1, 3, 9)
    ]
    assert medians[0] > medians[1] > medians[2]
    assert medians[3] > medians[2]
