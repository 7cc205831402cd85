"""Encoders and decoders in lists of steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import rnn_cell
from penstock.contrib import legacy_seq2seq


@pytest.fixture(autouse=True)
def fresh_graph() -> Any:
    with tf.Graph().as_default():
        yield


def run(fetches: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


ENCODER = [[1, 2], [0, 3], [3, 1]]
DECODER = [[0, 0], [4, 1], [2, 2], [3, 4]]


def test_a_decoder_takes_its_own_outputs_by_a_loop_function() -> None:
    class Plus(rnn_cell.RNNCell):
        state_size = output_size = 1

        def call(self, inputs: Any, state: Any) -> Any:
            return inputs + 1, state

    inputs = [tf.zeros([2, 1])] * 3
    given, _ = legacy_seq2seq.rnn_decoder(inputs, tf.zeros([2, 1]), Plus())
    fed, _ = legacy_seq2seq.rnn_decoder(inputs, tf.zeros([2, 1]), Plus(), loop_function=lambda previous, _: previous)
    assert [value[0, 0] for value in run(given)] == [1, 1, 1]
    assert [value[0, 0] for value in run(fed)] == [1, 2, 3]


def test_encoder_and_decoder_have_variables_of_their_own() -> None:
    steps = [tf.zeros([2, 3])] * 2
    legacy_seq2seq.basic_rnn_seq2seq(steps, steps, rnn_cell.BasicRNNCell(4))
    assert [v.op.name for v in tf.global_variables() if v.op.name.endswith("kernel")] == [
        "basic_rnn_seq2seq/rnn/basic_rnn_cell/kernel",
        "basic_rnn_seq2seq/rnn_decoder/basic_rnn_cell/kernel",
    ]


@pytest.mark.parametrize("attention", [False, True])
def test_feeding_back_can_be_decided_in_the_step(attention: bool) -> None:
    name = "embedding_attention_seq2seq" if attention else "embedding_rnn_seq2seq"
    function: Any = getattr(legacy_seq2seq, name)
    flag = tf.placeholder(tf.bool, [])
    found = {}
    for feed in (flag, True, False):
        with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
            args = list(map(tf.constant, ENCODER)), list(map(tf.constant, DECODER)), rnn_cell.BasicLSTMCell(3), 4, 5, 6
            found[feed], state = function(*args, feed_previous=feed)
        assert isinstance(state, rnn_cell.LSTMStateTuple)
    assert len(tf.global_variables()) == (16 if attention else 8)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for feed in (True, False):
            one, other = session.run([found[flag], found[feed]], {flag: feed})
            assert one[0].shape == (2, 5)
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("per_example", [False, True])
def test_buckets_share_variables_and_have_a_loss_each(per_example: bool) -> None:
    def model(x: Any, y: Any) -> Any:
        return legacy_seq2seq.embedding_rnn_seq2seq(x, y, rnn_cell.GRUCell(3), 4, 5, 6)

    encoder, decoder = list(map(tf.constant, ENCODER)), list(map(tf.constant, DECODER))
    weights = [tf.ones([2])] * 4
    outputs, losses = legacy_seq2seq.model_with_buckets(
        encoder, decoder, decoder, weights, [(1, 2), (3, 4)], model, per_example_loss=per_example
    )
    assert [len(found) for found in outputs] == [2, 4]
    assert len(tf.global_variables()) == 12
    assert [loss.shape for loss in run(losses)] == [(2,) if per_example else ()] * 2


def test_encoder_and_decoder_can_be_one_cell() -> None:
    """Values of TensorFlow 1.15."""
    encoder, decoder = ([tf.constant([step]) for step in side] for side in ([[0.1, 0.2], [0.3, -0.4]], [[0.5, 0.6]]))
    with tf.variable_scope("tied", initializer=tf.constant_initializer(0.2)):
        outputs, state = legacy_seq2seq.tied_rnn_seq2seq(encoder, decoder, rnn_cell.BasicRNNCell(2))
    assert [v.op.name for v in tf.global_variables()] == [
        f"tied/combined_tied_rnn_seq2seq/tied_rnn_seq2seq/basic_rnn_cell/{part}" for part in ("kernel", "bias")
    ]
    np.testing.assert_allclose(run(outputs)[0], [[0.21803154, 0.21803154]], rtol=1e-6)
    np.testing.assert_array_equal(*run([outputs[-1], state]))


@pytest.mark.parametrize("fed_back", [True, False])
def test_both_sides_can_share_an_embedding_and_feed_back_as_the_step_says(fed_back: bool) -> None:
    """Values of TensorFlow 1.15."""
    encoder, decoder = ([tf.constant(ids) for ids in side] for side in ([[1, 2], [0, 3]], DECODER[:3]))
    flag = tf.placeholder(tf.bool, [])
    with tf.variable_scope("b", initializer=tf.random_uniform_initializer(-1, 1, seed=3)):
        outputs, _ = legacy_seq2seq.embedding_tied_rnn_seq2seq(
            encoder, decoder, rnn_cell.GRUCell(3), 5, 4, num_decoder_symbols=4, feed_previous=flag
        )
    assert tf.global_variables()[0].shape.as_list() == [5, 4]
    expected = [
        [[0.07713632, -0.00040924, -0.02085426, 0.01983579], [0.09595793, 0.04958471, -0.0834323, 0.17361261]],
        [[0.02650823, 0.00406858, 0.05716395, 0.0274711], [0.01422503, -0.0483955, -0.01229489, -0.14752598]],
    ]
    found = run(outputs, {flag: fed_back})[-1]
    np.testing.assert_allclose(found, expected[0 if fed_back else 1], rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match="incompatible"):
        bad = (tf.zeros([3, 4]), tf.zeros([4]))
        legacy_seq2seq.embedding_tied_rnn_seq2seq(encoder, decoder, rnn_cell.GRUCell(3), 5, 4, output_projection=bad)


def test_one_encoder_has_several_decoders() -> None:
    """Values of TensorFlow 1.15."""
    encoder, decoder = ([tf.constant(ids) for ids in side] for side in ([[1, 2], [0, 3]], DECODER[:3]))
    cells = {name: rnn_cell.BasicLSTMCell(3) for name in "xy"}
    arguments = (rnn_cell.BasicLSTMCell(3), cells, 5, {"x": 5, "y": 6}, 4)
    with tf.variable_scope("c", initializer=tf.random_uniform_initializer(-1, 1, seed=3)):
        outputs, states = legacy_seq2seq.one2many_rnn_seq2seq(
            encoder, {"x": decoder, "y": decoder}, *arguments, feed_previous=True
        )
    inside = "one2many_decoder_y/embedding_rnn_decoder/rnn_decoder/output_projection_wrapper/kernel"
    assert f"c/one2many_rnn_seq2seq/{inside}" in [v.op.name for v in tf.global_variables()]
    found, state = run([outputs["x"][-1], states["y"].h])
    np.testing.assert_allclose(found[0], [-0.07163429, -0.11683404, 0.05453809, -0.16194841, 0.00442088], rtol=1e-4)
    np.testing.assert_allclose(state[1], [0.04758789, 0.21439077, 0.02818334], rtol=1e-4)
    with pytest.raises(ValueError, match="decoder_inputs_dict"):
        legacy_seq2seq.one2many_rnn_seq2seq(encoder, {"z": decoder}, *arguments)


def test_an_attention_decoder_needs_inputs_only_where_no_loop_function_gives_them() -> None:
    cell, states, start = tf.nn.rnn_cell.BasicRNNCell(3), tf.ones([2, 4, 5]), tf.ones([2, 3])
    given = []

    def loop_function(previous: Any, step: int) -> Any:
        given.append((step, previous.shape.as_list()))
        return previous

    outputs, _ = legacy_seq2seq.attention_decoder(
        [tf.zeros([2, 3]), None, None], start, states, cell, loop_function=loop_function
    )
    assert given == [(1, [2, 3]), (2, [2, 3])] and [each.shape.as_list() for each in outputs] == 3 * [[2, 3]]
