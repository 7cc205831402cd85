"""Decoders as functions, as in TF 1.0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import rnn_cell
from penstock.contrib import seq2seq

RNG = np.random.default_rng(3)
XS = RNG.normal(size=(2, 4, 3)).astype("float32")
LENGTHS = [4, 2]


@pytest.fixture(autouse=True)
def fresh_graph() -> Any:
    with tf.Graph().as_default():
        yield


def run(found: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(found)


@pytest.mark.parametrize("time_major", [True, False])
def test_training_is_a_dynamic_rnn_from_the_encoders_state(time_major: bool) -> None:
    cell = rnn_cell.GRUCell(5)
    start = tf.constant(RNG.normal(size=(2, 5)).astype("float32"))
    inputs = tf.constant(np.swapaxes(XS, 0, 1) if time_major else XS)
    function = seq2seq.simple_decoder_fn_train(start)
    outputs, state, context = seq2seq.dynamic_rnn_decoder(
        cell, function, inputs=inputs, sequence_length=LENGTHS, time_major=time_major
    )
    assert context is None and tf.trainable_variables()[0].op.name == "decoder/gru_cell/gates/kernel"
    expected = tf.nn.dynamic_rnn(cell, inputs, LENGTHS, start, time_major=time_major)
    found, plain = run([(outputs, state), expected])
    for one, other in zip(found, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


class Counter(rnn_cell.RNNCell):
    """Scores ids: the one after the id whose one-hot it reads."""

    state_size, output_size = 1, 5

    def call(self, inputs: Any, state: Any) -> Any:
        return tf.concat([inputs[:, 4:5], inputs[:, :4]], 1), state + 1


def test_inference_reads_the_best_id_until_the_end_or_the_maximum() -> None:
    function = seq2seq.simple_decoder_fn_inference(
        output_fn=lambda outputs: outputs * 2,
        encoder_state=tf.zeros([2, 1]),
        embeddings=tf.eye(5),
        start_of_sequence_id=1,
        end_of_sequence_id=4,
        maximum_length=10,
        num_decoder_symbols=5,
    )
    outputs, state = run(seq2seq.dynamic_rnn_decoder(Counter(), function)[:2])
    np.testing.assert_array_equal(outputs, np.tile(2 * np.eye(5)[[2, 3, 4]], (2, 1, 1)))
    np.testing.assert_array_equal(state, [[3], [3]])
    short = seq2seq.simple_decoder_fn_inference(lambda x: x, tf.zeros([2, 1]), tf.eye(5), 1, 0, 1, 5)
    assert run(seq2seq.dynamic_rnn_decoder(Counter(), short)[0]).shape == (2, 2, 5)


@pytest.mark.parametrize("option", ["bahdanau", "luong"])
def test_attention_is_read_with_the_inputs(option: str) -> None:
    units = 5
    memory = tf.constant(RNG.normal(size=(2, 3, units)).astype("float32"))
    start = rnn_cell.LSTMStateTuple(*[tf.constant(RNG.normal(size=(2, units)).astype("float32"))] * 2)
    cell = rnn_cell.LSTMCell(units)
    parts = seq2seq.prepare_attention(memory, option, units)
    with tf.variable_scope("decoder") as scope:
        function = seq2seq.attention_decoder_fn_train(start, *parts)
        outputs, _, _ = seq2seq.dynamic_rnn_decoder(cell, function, tf.constant(XS), LENGTHS, scope=scope)
        scope.reuse_variables()
        function = seq2seq.attention_decoder_fn_inference(
            lambda x: x, start, *parts, tf.constant(XS[:, 0].repeat(3, 0)), 0, -1, 3, units
        )
        inferred, _, _ = seq2seq.dynamic_rnn_decoder(cell, function, scope=scope)
    names = {v.op.name for v in tf.trainable_variables()}
    assert {"attention_keys/weights", "attention_construct/weights"} <= names
    assert ("attention_score/attnW" in names) == (option == "bahdanau")
    gradients = tf.gradients(tf.reduce_sum(outputs), tf.trainable_variables())
    outputs, inferred, slopes = run([outputs, inferred, gradients])
    assert outputs.shape == (2, 4, units) and inferred.shape == (2, 4, units)
    np.testing.assert_array_equal(outputs[1, 2:], 0)
    # In the first row both have read the same first input.
    np.testing.assert_allclose(outputs[0, 0], inferred[0, 0], rtol=1e-5, atol=1e-6)
    assert all(np.abs(slope).sum() > 0 for slope in slopes)
    with pytest.raises(ValueError, match="Unknown attention option"):
        seq2seq.prepare_attention(memory, "other", units, reuse=True)
