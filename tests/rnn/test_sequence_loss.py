"""Losses of sequences against their definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.contrib import legacy_seq2seq, seq2seq

RNG = np.random.default_rng(2)
LOGITS = RNG.normal(size=(2, 3, 4))
TARGETS = RNG.integers(0, 4, size=(2, 3))
WEIGHTS = np.array([[1.0, 0.5, 0.0], [1.0, 1.0, 2.0]])
LOG = LOGITS - np.log(np.exp(LOGITS).sum(2, keepdims=True))
LOSS = -np.take_along_axis(LOG, TARGETS[..., None], 2)[..., 0] * WEIGHTS


def run(value: Any) -> Any:
    with tf.Session() as session:
        return session.run(value)


@pytest.mark.parametrize("time", [True, False])
@pytest.mark.parametrize("batch", [True, False])
def test_a_sequence_loss_averages_over_what_it_is_told(time: bool, batch: bool) -> None:
    loss = seq2seq.sequence_loss(LOGITS, TARGETS, WEIGHTS, average_across_timesteps=time, average_across_batch=batch)
    axes = {(True, True): None, (True, False): 1, (False, True): 0}
    expected = LOSS if not time and not batch else LOSS.sum(axes[time, batch]) / WEIGHTS.sum(axes[time, batch])
    np.testing.assert_allclose(run(loss), expected)


def test_the_legacy_losses_take_lists_of_steps() -> None:
    x, y, w = ([tf.constant(value[:, t]) for t in range(3)] for value in (LOGITS, TARGETS, WEIGHTS))
    by_row = LOSS.sum(1) / WEIGHTS.sum(1)
    np.testing.assert_allclose(run(legacy_seq2seq.sequence_loss_by_example(x, y, w)), by_row)
    np.testing.assert_allclose(run(legacy_seq2seq.sequence_loss(x, y, w)), by_row.mean())
    total = legacy_seq2seq.sequence_loss(x, y, w, average_across_timesteps=False, average_across_batch=False)
    np.testing.assert_allclose(run(total), LOSS.sum())


def test_another_loss_gets_labels_and_logits() -> None:
    loss = seq2seq.sequence_loss(
        LOGITS, TARGETS, WEIGHTS, softmax_loss_function=lambda labels, logits: tf.reduce_sum(logits, 1)
    )
    np.testing.assert_allclose(run(loss), (LOGITS.sum(2) * WEIGHTS).sum() / WEIGHTS.sum())


def test_a_loss_with_other_names_gets_labels_then_logits() -> None:
    """As it did in TensorFlow 1.0, which asked for no names."""
    loss = seq2seq.sequence_loss(
        LOGITS, TARGETS, WEIGHTS, softmax_loss_function=lambda targets, inputs: tf.reduce_sum(inputs, 1)
    )
    np.testing.assert_allclose(run(loss), (LOGITS.sum(2) * WEIGHTS).sum() / WEIGHTS.sum())


def test_a_loss_that_takes_labels_last_gets_logits_then_labels() -> None:
    """As it did before TensorFlow 1.0, whose tutorial on translation has `def sampled_loss(inputs, labels)`."""
    loss = seq2seq.sequence_loss(
        LOGITS, TARGETS, WEIGHTS, softmax_loss_function=lambda inputs, labels: tf.reduce_sum(inputs, 1)
    )
    np.testing.assert_allclose(run(loss), (LOGITS.sum(2) * WEIGHTS).sum() / WEIGHTS.sum())


def test_a_loss_function_gets_targets_of_any_shape_such_as_smoothed_labels() -> None:
    logits = [np.float32([[1, 2, 4], [0, 3, 1]])]
    labels = [np.float32([[0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])]
    weights = [np.float32([1, 0.5])]
    found = legacy_seq2seq.sequence_loss_by_example(
        logits,
        labels,
        weights,
        average_across_timesteps=False,
        softmax_loss_function=tf.nn.softmax_cross_entropy_with_logits,
    )
    logs = logits[0] - np.log(np.exp(logits[0]).sum(1, keepdims=True))
    np.testing.assert_allclose(run(found), -(labels[0] * logs).sum(1) * weights[0], rtol=1e-5)
