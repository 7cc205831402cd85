"""Grids of recurrent cells: values of TensorFlow 1.15, with all weights and inputs given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.contrib import grid_rnn

INPUTS = np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def multi() -> Any:
    return tf.nn.rnn_cell.MultiRNNCell([grid_rnn.Grid2LSTMCell(2, output_is_tuple=False) for _ in range(2)])


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize(
    ("make", "outputs", "states", "weights"),
    [
        (lambda: grid_rnn.Grid1BasicRNNCell(2), 0.0, 1.211359, 3),
        (lambda: grid_rnn.Grid2BasicRNNCell(2), -0.49943584, 0.5582918, 5),
        (lambda: grid_rnn.Grid1BasicLSTMCell(2), 2.7382705, 5.5163584, 4),
        (lambda: grid_rnn.Grid2BasicLSTMCell(2, tied=True), 3.2406857, 10.076551, 4),
        (lambda: grid_rnn.Grid2BasicLSTMCell(2, non_recurrent_fn=tf.nn.relu), 9.178235, 4.075451, 6),
        (lambda: grid_rnn.Grid1LSTMCell(2, use_peepholes=True), 3.5387964, 6.100134, 7),
        (lambda: grid_rnn.Grid3LSTMCell(2, use_peepholes=True), 4.1483693, 15.773774, 17),
        (lambda: grid_rnn.Grid3LSTMCell(2, non_recurrent_fn=tf.tanh), 0.36508214, 8.7554455, 8),
        (lambda: grid_rnn.Grid2GRUCell(2), -3.576281, -1.8235893, 9),
        (
            lambda: grid_rnn.Grid2LSTMCell(2, state_is_tuple=False, output_is_tuple=False),
            3.2406857,
            10.076551,
            6,
        ),
        (lambda: grid_rnn.GridRNNCell(2, 3, [0, 1], [0, 2], 0), 5.0643625, 12.951588, 10),
        (multi, 2.9470408, 17.7295, 12),
    ],
)
def test_grids_compute_what_tensorflow_does(
    make: Callable[[], Any], outputs: float, states: float, weights: int, static: bool
) -> None:
    with tf.variable_scope("r", initializer=tf.constant_initializer(0.5)):
        x = tf.constant(INPUTS)
        run = tf.nn.static_rnn if static else tf.nn.dynamic_rnn
        found = run(make(), tf.unstack(x, axis=1) if static else x, dtype=tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        sums = [sum(part.sum() for part in tf.contrib.framework.nest.flatten(each)) for each in session.run(found)]
    np.testing.assert_allclose(sums, [outputs, states], rtol=1e-5, atol=1e-6)
    assert len(tf.trainable_variables()) == weights


def test_weights_are_named_by_dimension_and_gradients_flow() -> None:
    cell = grid_rnn.Grid2LSTMCell(2, non_recurrent_fn=tf.nn.relu)
    (output,), _ = cell(tf.ones([3, 4]), cell.zero_state(3, tf.float32))
    assert [v.op.name.removeprefix("Grid2LSTMCell/") for v in tf.trainable_variables()] == [
        "project_m_0",
        "project_c_0",
        "recurrent/cell_1/lstm_cell/kernel",
        "recurrent/cell_1/lstm_cell/bias",
        "non_recurrent/cell_0/fully_connected/weights",
        "non_recurrent/cell_0/fully_connected/biases",
    ]
    assert None not in tf.gradients(output, [v for v in tf.trainable_variables() if "project_c" not in v.name])
    assert cell.state_size == (tf.nn.rnn_cell.LSTMStateTuple(2, 2),)
    assert cell.output_size == (2,)


def test_grids_refuse_what_is_no_dimension_or_no_cell() -> None:
    with pytest.raises(ValueError, match="Must be in"):
        grid_rnn.GridRNNCell(2, 2, input_dims=[3])
    with pytest.raises(ValueError, match="must be >= 1"):
        grid_rnn.GridRNNCell(2, 0)
    with pytest.raises(TypeError, match="must return an RNNCell"):
        grid_rnn.GridRNNCell(2, cell_fn=lambda n: n)
    cell = grid_rnn.Grid2BasicRNNCell(2)
    with pytest.raises(ValueError, match="tuple of 2"):
        cell(tf.ones([3, 4]), (tf.zeros([3, 2]),))
