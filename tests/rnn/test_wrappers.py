"""Wrappers of cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import rnn_cell
from penstock.contrib import rnn as contrib_rnn
from penstock.rnn.dynamic import dynamic_rnn


@pytest.fixture(autouse=True)
def fresh_graph() -> Any:
    with tf.Graph().as_default():
        yield


class Echo(rnn_cell.RNNCell):
    """Output and new state are the inputs."""

    state_size = output_size = 50

    def call(self, inputs: Any, state: Any) -> Any:
        return inputs, inputs


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def test_dropout_scales_what_it_keeps_and_leaves_the_rest_out() -> None:
    x, zero = tf.ones([4, 50]), tf.zeros([4, 50])
    output, state = run(rnn_cell.DropoutWrapper(Echo(), output_keep_prob=0.5, seed=1)(x, zero))
    assert set(np.unique(output)) == {0, 2}
    np.testing.assert_array_equal(state, np.ones([4, 50]))
    output, state = run(rnn_cell.DropoutWrapper(Echo(), state_keep_prob=0.25)(x, zero))
    assert set(np.unique(state)) == {0, 4}
    np.testing.assert_array_equal(output, np.ones([4, 50]))
    output, state = run(rnn_cell.DropoutWrapper(Echo(), input_keep_prob=tf.constant(0.5))(x, zero))
    np.testing.assert_array_equal(output, state)
    assert set(np.unique(output)) == {0, 2}


def test_dropout_of_the_state_spares_the_memory_of_an_lstm() -> None:
    cell = rnn_cell.DropoutWrapper(rnn_cell.BasicLSTMCell(50), state_keep_prob=0.5)
    state = rnn_cell.LSTMStateTuple(tf.ones([4, 50]), tf.ones([4, 50]))
    new = run(cell(tf.ones([4, 3]), state)[1])
    assert np.all(new.c != 0)
    assert np.any(new.h == 0)


def test_variational_dropout_has_one_mask_for_all_steps_and_rows() -> None:
    cell = rnn_cell.DropoutWrapper(
        Echo(), input_keep_prob=0.5, variational_recurrent=True, input_size=50, dtype=tf.float32
    )
    outputs = run(dynamic_rnn(cell, tf.ones([3, 6, 50]), dtype=tf.float32)[0])
    assert set(np.unique(outputs)) == {0, 2}
    np.testing.assert_array_equal(outputs, np.broadcast_to(outputs[0, 0], outputs.shape))
    with pytest.raises(ValueError, match="dtype"):
        rnn_cell.DropoutWrapper(Echo(), variational_recurrent=True)


def test_dropout_asks_for_probabilities() -> None:
    with pytest.raises(ValueError, match="output_keep_prob"):
        rnn_cell.DropoutWrapper(Echo(), output_keep_prob=0.0)


def test_a_residual_adds_the_inputs_or_does_what_it_is_told() -> None:
    x = tf.ones([2, 50])
    assert run(rnn_cell.ResidualWrapper(Echo())(x, x)[0])[0, 0] == 2
    assert run(rnn_cell.ResidualWrapper(Echo(), residual_fn=lambda i, o: i * 5)(x, x)[0])[0, 0] == 5


def test_a_device_wrapper_puts_the_cell_on_its_device() -> None:
    cell = rnn_cell.DeviceWrapper(rnn_cell.GRUCell(4), "/cpu:0")
    output, _ = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    assert output.op.device.lower().endswith("cpu:0")


def test_embedding_and_projections_have_variables_in_scopes_of_their_own() -> None:
    inner = contrib_rnn.InputProjectionWrapper(rnn_cell.GRUCell(4), 5)
    cell = contrib_rnn.OutputProjectionWrapper(contrib_rnn.EmbeddingWrapper(inner, 7, 3), 6)
    output, state = cell(tf.constant([1, 2]), tf.zeros([2, 4]))
    assert (output.shape.as_list(), state.shape.as_list(), cell.output_size) == ([2, 6], [2, 4], 6)
    found = {v.op.name: v.shape.as_list() for v in tf.global_variables()}
    base = "output_projection_wrapper"
    assert found[f"{base}/kernel"] == [4, 6]
    assert found[f"{base}/embedding_wrapper/embedding"] == [7, 3]
    assert found[f"{base}/embedding_wrapper/input_projection_wrapper/kernel"] == [3, 5]
    assert found[f"{base}/embedding_wrapper/input_projection_wrapper/gru_cell/gates/kernel"] == [9, 8]


def test_what_dropout_keeps_can_be_a_variable() -> None:
    keep = tf.Variable(0.5, trainable=False)
    cell = rnn_cell.DropoutWrapper(Echo(), output_keep_prob=keep)
    output, _ = run(cell(tf.ones([4, 50]), tf.zeros([4, 50])))
    assert set(np.unique(output)) == {0, 2}
    assert isinstance(cell.wrapped_cell, Echo)
