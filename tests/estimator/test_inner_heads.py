"""Heads from inside TensorFlow sum the losses of a batch; those of tf.contrib.estimator have their mean."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import penstock as tf

head = importlib.import_module("penstock.python.estimator.canned.head")
LOGIT, LABEL = np.float32([[1], [2], [-1]]), np.int64([[1], [0], [1]])
LOGITS, CLASS = np.float32([[1, 0, 2], [2, 1, 0], [-1, 0, 3]]), np.int64([[0], [0], [1]])


def loss_of(made: Any, logits: np.ndarray, labels: np.ndarray) -> float:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.create_global_step()
        spec = made.create_estimator_spec({}, tf.estimator.ModeKeys.EVAL, tf.constant(logits), labels)
        session.run(tf.local_variables_initializer())
        return float(session.run(spec.loss))


def test_losses_of_a_batch_are_summed_where_nothing_else_is_said() -> None:  # as in TensorFlow 1.15
    assert loss_of(head._binary_logistic_head_with_sigmoid_cross_entropy_loss(), LOGIT, LABEL) == pytest.approx(
        3.7534516
    )
    assert loss_of(head._multi_class_head_with_softmax_cross_entropy_loss(3), LOGITS, CLASS) == pytest.approx(4.881096)
    assert loss_of(head._regression_head(), LOGIT, LABEL) == pytest.approx(8.0)
    assert loss_of(tf.contrib.estimator.regression_head(), LOGIT, LABEL) == pytest.approx(8.0 / 3)


def test_a_head_for_two_classes_or_more_takes_the_reduction_that_it_is_given() -> None:
    mean = tf.losses.Reduction.SUM_OVER_BATCH_SIZE
    two = head._binary_logistic_or_multi_class_head(2, None, None, tf.losses.Reduction.SUM)
    three = head._binary_logistic_or_multi_class_head(3, weight_column=None, label_vocabulary=None, loss_reduction=mean)
    assert (two.logits_dimension, three.logits_dimension) == (1, 3)
    assert loss_of(two, LOGIT, LABEL) == pytest.approx(3.7534516)
    assert loss_of(three, LOGITS, CLASS) == pytest.approx(4.881096 / 3)
