"""tf.losses.mean_pairwise_squared_error, against all pairs one by one."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

random = np.random.RandomState(0)
LABELS, PREDICTIONS = random.rand(3, 4).astype("f"), random.rand(3, 4).astype("f")


def by_pairs(weights: np.ndarray) -> float:
    """The sum over rows of the mean over pairs of (a - b)², a and b errors of elements."""
    total = 0.0
    for error, weight in zip(PREDICTIONS - LABELS, weights, strict=True):
        pairs = [(a - b) ** 2 for i, a in enumerate(error) for j, b in enumerate(error) if i != j]
        total += float(np.mean(pairs) * weight)
    return total


@pytest.mark.parametrize("weights", [1.0, 0.0, 2.5, [[1.0], [0.0], [2.0]]])
def test_the_loss_is_the_mean_over_pairs_of_each_row(weights: object) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        loss = tf.losses.mean_pairwise_squared_error(LABELS, PREDICTIONS, weights)
        shifted = tf.losses.mean_pairwise_squared_error(LABELS, np.add(PREDICTIONS, [[5.0], [0.0], [-3.0]]), weights)
        assert tf.losses.get_losses() == [loss, shifted]
        each = np.broadcast_to(np.asarray(weights, float), (3, 1)).reshape(3)
        assert session.run(loss) == pytest.approx(by_pairs(each), rel=1e-4)
        assert session.run(shifted) == pytest.approx(by_pairs(each), rel=1e-4)


def test_elements_without_weight_make_no_pairs() -> None:
    """The value is TensorFlow 2.21's."""
    with tf.Graph().as_default(), tf.Session() as session:
        some = [[1.0, 0, 1, 1], [0, 0, 0, 0], [1, 2, 0, 0]]
        assert session.run(tf.losses.mean_pairwise_squared_error(LABELS, PREDICTIONS, some)) == pytest.approx(2.7340965)
