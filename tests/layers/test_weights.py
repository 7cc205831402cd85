"""The values of weights, and what layers and cells tell of their losses and updates."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import penstock as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def test_weights_are_read_and_set_in_the_default_session() -> None:
    x = tf.placeholder(tf.float32, [None, 4])
    layer = tf.layers.Dense(3)
    y = layer(x)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [value.shape for value in layer.get_weights()] == [(4, 3), (3,)]
        layer.set_weights([np.ones([4, 3]), np.full(3, 0.5)])
        assert session.run(y, {x: np.ones([1, 4])}).tolist() == [[4.5, 4.5, 4.5]]
        np.testing.assert_array_equal(layer.get_weights()[1], [0.5, 0.5, 0.5])
        with pytest.raises(ValueError, match="expecting 2 weights"):
            layer.set_weights([np.ones([4, 3])])
        with pytest.raises(ValueError, match="not compatible with provided weight shape"):
            layer.set_weights([np.ones([3, 3]), np.zeros(3)])
    with pytest.raises(ValueError, match="Session"):
        layer.get_weights()


def test_losses_are_asked_for_by_what_they_depend_on() -> None:
    x = tf.placeholder(tf.float32, [None, 4])
    layer = tf.layers.Dense(3, kernel_regularizer=tf.nn.l2_loss, activity_regularizer=tf.reduce_sum)
    layer(x)
    assert [len(layer.get_losses_for(inputs)) for inputs in (None, x)] == [1, 1]
    assert layer.get_losses_for(None) + layer.get_losses_for(x) == layer.losses


def test_updates_of_batch_normalization_depend_on_inputs() -> None:
    x = tf.placeholder(tf.float32, [None, 4])
    layer = tf.layers.BatchNormalization()
    layer(x, training=True)
    assert [len(layer.get_updates_for(inputs)) for inputs in (None, x)] == [0, 2]


def test_cells_have_what_layers_have() -> None:
    cell = tf.nn.rnn_cell.BasicLSTMCell(3)
    tf.nn.dynamic_rnn(cell, tf.ones([2, 3, 4]), dtype=tf.float32)
    assert (cell.losses, cell.updates, cell.non_trainable_weights, cell.count_params()) == ([], [], [], 7 * 12 + 12)
    loss = tf.constant(1.0)
    cell.add_loss(loss)
    assert cell.losses == [loss] == tf.losses.get_regularization_losses()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        cell.set_weights([np.zeros([7, 12]), np.ones(12)])
        assert [value.sum() for value in cell.get_weights()] == [0, 12]
