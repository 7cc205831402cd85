"""tf.losses: values from TensorFlow 2.21's compat.v1 on the same labels, predictions and weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf

LABELS = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
LOGITS = [[0.7, 0.2, 0.1], [0.3, 2.4, -0.3]]
SHARES = [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3]]
ROWS = [[1.0], [0.5]]
SOME = [[1.0, 0.0, 2.0], [0.0, 0.0, 1.0]]
# unweighted; by rows; with zero weights; by rows, MEAN; SUM
EXPECTED = {
    "absolute_difference": [0.43333337, 0.26666668, 0.26666668, 0.35555556, 2.6],
    "mean_squared_error": [0.38, 0.2016667, 0.06666667, 0.26888892, 2.28],
    "huber_loss": [0.17666668, 0.09416667, 0.03333334, 0.12555557, 1.06],
    "hinge_loss": [0.76666665, 0.59999996, 1.0666667, 0.79999995, 4.6],
    "sigmoid_cross_entropy": [0.57354474, 0.44891584, 0.81544495, 0.59855443, 3.4412684],
}


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def value(tensor: Any) -> float:
    with tf.Session() as session:
        return float(session.run(tensor))


@pytest.mark.parametrize("name", EXPECTED)
def test_an_elementwise_loss_is_tensorflows_under_each_weighting(name: str) -> None:
    loss = getattr(tf.losses, name)
    found = [
        loss(LABELS, LOGITS),
        loss(LABELS, LOGITS, weights=ROWS),
        loss(LABELS, LOGITS, weights=SOME),
        loss(LABELS, LOGITS, weights=ROWS, reduction=tf.losses.Reduction.MEAN),
        loss(LABELS, LOGITS, reduction=tf.losses.Reduction.SUM),
    ]
    assert [value(f) for f in found] == pytest.approx(EXPECTED[name], rel=1e-5)
    assert tf.losses.get_losses() == found


def test_losses_of_shares_and_classes_are_tensorflows() -> None:
    losses = tf.losses
    found = [
        (0.38580313, losses.log_loss(LABELS, SHARES)),
        (0.45, losses.cosine_distance(LABELS, SHARES, axis=1)),
        (0.4708094, losses.softmax_cross_entropy(LABELS, LOGITS)),
        (0.48572546, losses.softmax_cross_entropy(LABELS, LOGITS, weights=[1.0, 0.5], label_smoothing=0.1)),
        (0.47080940, losses.sparse_softmax_cross_entropy([0, 1], LOGITS)),
        (0.08683461, losses.sparse_softmax_cross_entropy([[0], [1]], LOGITS, weights=[[0.0], [0.5]])),
        (0.62021136, losses.sigmoid_cross_entropy(LABELS, LOGITS, label_smoothing=0.2)),
    ]
    for want, loss in found:
        assert value(loss) == pytest.approx(want, rel=1e-5)


def test_reduction_none_keeps_the_losses_and_zero_weights_give_zero() -> None:
    losses = tf.losses.absolute_difference(LABELS, LOGITS, reduction=tf.losses.Reduction.NONE)
    assert losses.shape.as_list() == [2, 3]
    assert value(tf.losses.absolute_difference(LABELS, LOGITS, weights=0.0)) == 0


def test_the_total_adds_regularization_unless_told_otherwise() -> None:
    with pytest.raises(ValueError, match="no losses"):
        tf.losses.get_total_loss()
    tf.losses.add_loss(tf.constant(2.0))
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(0.5))
    assert value(tf.losses.get_total_loss()) == 2.5
    assert value(tf.losses.get_total_loss(add_regularization_losses=False)) == 2.0
    assert value(tf.losses.get_regularization_loss()) == 0.5


def test_a_loss_has_a_gradient() -> None:
    x = tf.placeholder(tf.float32, [3])
    (grad,) = tf.gradients(tf.losses.mean_squared_error([1.0, 2.0, 3.0], x, weights=[1.0, 0.0, 1.0]), x)
    with tf.Session() as session:
        assert session.run(grad, {x: [2.0, 5.0, 1.0]}).tolist() == [1.0, 0.0, -2.0]


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="incompatible"):
        tf.losses.mean_squared_error([[1.0], [2.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match="can not be broadcast to values"):
        tf.losses.mean_squared_error(LABELS, LOGITS, weights=[1.0, 2.0])
    with pytest.raises(ValueError, match="weighted_sum"):
        tf.losses.mean_squared_error(LABELS, LOGITS, reduction="sum")


def test_weights_of_sparse_losses_may_be_fed_as_a_column() -> None:
    logits, weights = np.array([[4.0, 0.0], [0.0, 4.0], [1.0, 3.0]], np.float32), tf.placeholder(tf.float32)
    loss = tf.losses.sparse_softmax_cross_entropy([0, 0, 1], logits, weights)
    each = np.log(np.exp(logits).sum(1)) - logits[np.arange(3), [0, 0, 1]]
    given = np.array([2.0, 0.5, 3.0])
    with tf.Session() as session:
        for fed in (given, given[:, None]):
            assert session.run(loss, {weights: fed}) == pytest.approx((each * given).sum() / 3, rel=1e-6)
        assert session.run(loss, {weights: 2.0}) == pytest.approx(2 * each.mean(), rel=1e-6)


def test_weights_that_do_not_fit_are_told_before_they_are_multiplied() -> None:
    losses, weights = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    loss = tf.losses.compute_weighted_loss(losses, weights)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="weights can not be broadcast"):
        session.run(loss, {losses: np.ones((3, 4)), weights: np.ones((3, 2))})
