"""Decoders in loops: what they read, when they end, what they learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import rnn_cell
from penstock.contrib import seq2seq
from penstock.session.gradient_checker import compute_gradient_error

RNG = np.random.default_rng(2)
XS, LENGTHS = RNG.normal(size=(3, 4, 2)), [2, 4, 0]
EMBEDDING = np.eye(5)


@pytest.fixture(autouse=True)
def fresh_graph() -> Any:
    with tf.Graph().as_default():
        yield


def run(found: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(found, feed)


class Counter(rnn_cell.RNNCell):
    """Adds one to its state; scores ids of 5 classes: the one after the id given, whose one-hot it reads."""

    state_size, output_size = 1, 5

    def call(self, inputs: Any, state: Any) -> Any:
        return 9 * tf.concat([inputs[:, -1:], inputs[:, :-1]], 1), state + 1


# --- training -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("time_major", [True, False])
def test_decoding_given_inputs_is_a_dynamic_rnn(time_major: bool) -> None:
    inputs = tf.placeholder(tf.float64, [None, None, 2])
    given = np.swapaxes(XS, 0, 1) if time_major else XS
    cell = rnn_cell.LSTMCell(4)
    helper = seq2seq.TrainingHelper(inputs, LENGTHS, time_major=time_major)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(3, tf.float64))
    found = seq2seq.dynamic_decode(decoder, output_time_major=time_major, impute_finished=True)
    assert [v.op.name for v in tf.trainable_variables()] == ["decoder/lstm_cell/kernel", "decoder/lstm_cell/bias"]
    expected = tf.nn.dynamic_rnn(cell, inputs, LENGTHS, dtype=tf.float64, time_major=time_major)
    (outputs, state, lengths), (plain, last) = run([found, expected], {inputs: given})
    np.testing.assert_allclose(outputs.rnn_output, plain)
    np.testing.assert_array_equal(outputs.sample_id[plain.any(-1)], plain.argmax(-1)[plain.any(-1)])
    np.testing.assert_allclose(np.hstack(state), np.hstack(last))
    np.testing.assert_array_equal(lengths, LENGTHS)


def test_without_imputing_rows_go_on_until_all_have_finished_or_the_maximum_is_reached() -> None:
    cell = rnn_cell.BasicRNNCell(3)
    limit = tf.placeholder(tf.int32, [])
    helper = seq2seq.TrainingHelper(tf.constant(XS), LENGTHS)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(3, tf.float64))
    outputs, state, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=limit)
    outputs, state, lengths = run([outputs.rnn_output, state, lengths], {limit: 3})
    assert outputs.shape == (3, 3, 3) and (outputs != 0).all()
    np.testing.assert_array_equal(state, outputs[:, -1])
    np.testing.assert_array_equal(lengths, [2, 3, 0])
    with pytest.raises(ValueError, match="must be a scalar"):
        seq2seq.dynamic_decode(decoder, maximum_iterations=[3])
    with pytest.raises(TypeError, match="Decoder"):
        seq2seq.dynamic_decode(helper)  # type: ignore[arg-type]


def test_no_steps_at_all_give_empty_outputs() -> None:
    helper = seq2seq.TrainingHelper(tf.constant(XS), [0, 0, 0])
    cell = rnn_cell.BasicRNNCell(3)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(3, tf.float64), tf.layers.Dense(7))
    outputs, _, lengths = run(seq2seq.dynamic_decode(decoder))
    assert outputs.rnn_output.shape == (3, 0, 7) and outputs.sample_id.shape == (3, 0)
    np.testing.assert_array_equal(lengths, [0, 0, 0])


@pytest.mark.parametrize("impute", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_gradients_go_through_attention_and_decoder(impute: bool) -> None:
    memory, inputs = tf.constant(RNG.normal(size=(3, 4, 2))), tf.constant(XS)
    with tf.variable_scope("", initializer=tf.random_uniform_initializer(-1, 1, seed=1), dtype=tf.float64):
        mechanism = seq2seq.BahdanauAttention(2, memory, [4, 2, 3], normalize=True)
        cell = seq2seq.AttentionWrapper(rnn_cell.GRUCell(2), mechanism, 2, alignment_history=True)
        helper = seq2seq.TrainingHelper(inputs, [2, 3, 1])
        decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(3, tf.float64), tf.layers.Dense(2))
        outputs, _, _ = seq2seq.dynamic_decode(decoder, impute_finished=impute, swap_memory=True)
    y = outputs.rnn_output * tf.constant(RNG.normal(size=(3, 3, 2)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        steps = tf.reduce_sum(y)
        assert compute_gradient_error(inputs, [3, 4, 2], steps, []) < 1e-6
        assert compute_gradient_error(memory, [3, 4, 2], steps, []) < 1e-6
        for variable in tf.trainable_variables():
            shape = variable.shape.as_list()
            value = session.run(variable)
            error = compute_gradient_error(variable, shape, steps, [], x_init_value=value)
            assert error < 1e-6, variable.op.name


def test_a_model_with_attention_learns_to_copy_and_then_copies() -> None:
    vocabulary, units, batch, time = 6, 12, 12, 4
    source, lengths = tf.placeholder(tf.int32, [None, None]), tf.placeholder(tf.int32, [None])
    embedding = tf.get_variable("embedding", [vocabulary, 5], initializer=tf.random_normal_initializer(seed=1))
    initializer = tf.random_uniform_initializer(-0.5, 0.5, seed=2)
    with tf.variable_scope("", initializer=initializer):
        read = tf.nn.embedding_lookup(embedding, source)
        encoded, state = tf.nn.dynamic_rnn(rnn_cell.GRUCell(units), read, lengths, dtype=tf.float32)
        mechanism = seq2seq.LuongAttention(units, encoded, lengths)
        cell = seq2seq.AttentionWrapper(rnn_cell.GRUCell(units), mechanism, units)
        rows = tf.shape(source)[0]
        start = cell.zero_state(rows, tf.float32).clone(cell_state=state)
        projection = tf.layers.Dense(vocabulary, name="projection")
        before = tf.concat([tf.ones([rows, 1], tf.int32), source[:, :-1]], 1)
        training = seq2seq.TrainingHelper(tf.nn.embedding_lookup(embedding, before), lengths)
        outputs, _, _ = seq2seq.dynamic_decode(seq2seq.BasicDecoder(cell, training, start, projection))
        weights = tf.sequence_mask(lengths, dtype=tf.float32)
        loss = seq2seq.sequence_loss(outputs.rnn_output, source, weights)
        train = tf.train.AdamOptimizer(0.03).minimize(loss)
        greedy = seq2seq.GreedyEmbeddingHelper(embedding, tf.ones([rows], tf.int32), 0)
        decoded, _, ends = seq2seq.dynamic_decode(
            seq2seq.BasicDecoder(cell, greedy, start, projection), impute_finished=True, maximum_iterations=2 * time
        )
    random = np.random.RandomState(0)

    def batch_of_words() -> dict[Any, Any]:
        sizes = random.randint(2, time + 1, batch)
        sizes[0] = time
        words = random.randint(2, vocabulary, [batch, time])
        words[np.arange(time) >= sizes[:, None] - 1] = 0  # each ends with 0
        return {source: words, lengths: sizes}

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, train], batch_of_words())[0] for _ in range(200)]
        feed = batch_of_words()
        words, sizes = session.run([decoded.sample_id, ends], feed)
    assert losses[0] > 1 and np.mean(losses[-10:]) < 0.2, losses[-1]
    right = [list(words[i, : sizes[i]]) == list(feed[source][i, : feed[lengths][i]]) for i in range(batch)]
    assert sum(right) >= batch - 2


# --- helpers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("callable_", [True, False])
def test_greedy_decoding_reads_what_it_chose_until_the_end(callable_: bool) -> None:
    embedding: Any = tf.constant(EMBEDDING)
    if callable_:
        embedding = lambda ids: tf.nn.embedding_lookup(tf.constant(EMBEDDING), ids)  # noqa: E731
    helper = seq2seq.GreedyEmbeddingHelper(embedding, [1, 3, 4], end_token=0)
    decoder = seq2seq.BasicDecoder(Counter(), helper, tf.zeros([3, 1], tf.float64))
    outputs, state, lengths = run(seq2seq.dynamic_decode(decoder, impute_finished=True))
    np.testing.assert_array_equal(outputs.sample_id, [[2, 3, 4, 0], [4, 0, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(lengths, [4, 2, 1])
    np.testing.assert_array_equal(state[:, 0], [4, 2, 1])
    np.testing.assert_array_equal(outputs.rnn_output[2, 1:], 0)
    with pytest.raises(ValueError, match="vector"):
        seq2seq.GreedyEmbeddingHelper(embedding, 1, 0)
    with pytest.raises(ValueError, match="scalar"):
        seq2seq.GreedyEmbeddingHelper(embedding, [1], [0])


def test_samples_follow_the_scores_and_a_low_temperature_makes_them_greedy() -> None:
    cold = seq2seq.SampleEmbeddingHelper(tf.constant(EMBEDDING), [1, 3], 0, softmax_temperature=0.01, seed=1)
    decoder = seq2seq.BasicDecoder(Counter(), cold, tf.zeros([2, 1], tf.float64))
    ids = run(seq2seq.dynamic_decode(decoder)[0].sample_id)
    np.testing.assert_array_equal(ids, [[2, 3, 4, 0], [4, 0, 1, 2]])
    hot = seq2seq.SampleEmbeddingHelper(tf.constant(EMBEDDING), [1] * 50, 0, softmax_temperature=1e6, seed=1)
    decoder = seq2seq.BasicDecoder(Counter(), hot, tf.zeros([50, 1], tf.float64))
    ids = run(seq2seq.dynamic_decode(decoder, maximum_iterations=1)[0].sample_id)
    assert set(ids[:, 0]) == set(range(5))


def test_a_custom_helper_is_three_functions() -> None:
    helper = seq2seq.CustomHelper(
        initialize_fn=lambda: (tf.constant([False, False]), tf.constant(EMBEDDING[:2])),
        sample_fn=lambda time, outputs, state: tf.argmax(outputs, -1, output_type=tf.int32),
        next_inputs_fn=lambda time, outputs, state, sample_ids: (
            tf.equal(sample_ids, 4),
            tf.one_hot(sample_ids, 5, dtype=tf.float64),
            state + 10,
        ),
    )
    with pytest.raises(ValueError, match="before initialize"):
        _ = helper.batch_size
    decoder = seq2seq.BasicDecoder(Counter(), helper, tf.zeros([2, 1], tf.float64))
    outputs, state, lengths = run(seq2seq.dynamic_decode(decoder, impute_finished=True))
    np.testing.assert_array_equal(outputs.sample_id, [[1, 2, 3, 4], [2, 3, 4, 0]])
    np.testing.assert_array_equal(state[:, 0], [44, 33])
    np.testing.assert_array_equal(lengths, [4, 3])


def test_inference_by_functions_of_samples() -> None:
    helper = seq2seq.InferenceHelper(
        sample_fn=lambda outputs: outputs / 9,
        sample_shape=[5],
        sample_dtype=tf.float64,
        start_inputs=tf.constant(EMBEDDING[:2]),
        end_fn=lambda sample: sample[:, 3] > 0.5,
    )
    decoder = seq2seq.BasicDecoder(Counter(), helper, tf.zeros([2, 1], tf.float64))
    outputs, _, lengths = run(seq2seq.dynamic_decode(decoder))
    np.testing.assert_array_equal(outputs.sample_id[0].argmax(-1), [1, 2, 3])
    np.testing.assert_array_equal(lengths, [3, 2])


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_scheduled_sampling_reads_given_or_drawn_ids(probability: float) -> None:
    given = EMBEDDING[[[1, 1, 1, 1], [3, 0, 3, 0]]]
    helper = seq2seq.ScheduledEmbeddingTrainingHelper(
        tf.constant(given), [4, 3], tf.constant(EMBEDDING), probability, seed=1, scheduling_seed=2
    )
    decoder = seq2seq.BasicDecoder(Counter(), helper, tf.zeros([2, 1], tf.float64))
    outputs, _, lengths = run(seq2seq.dynamic_decode(decoder))
    chosen = outputs.rnn_output.argmax(-1)
    if probability:
        np.testing.assert_array_equal(outputs.sample_id, chosen)
        np.testing.assert_array_equal(chosen, [[2, 3, 4, 0], [4, 0, 1, 2]])
    else:
        assert (outputs.sample_id == -1).all()
        np.testing.assert_array_equal(chosen[0], [2, 2, 2, 2])
        np.testing.assert_array_equal(chosen[1, :3], [4, 1, 4])
    np.testing.assert_array_equal(lengths, [4, 3])
    with pytest.raises(ValueError, match="scalar or a vector"):
        seq2seq.ScheduledEmbeddingTrainingHelper(tf.constant(given), [4, 3], tf.constant(EMBEDDING), [[0.5]])


def test_scheduled_sampling_draws_each_row_with_its_probability() -> None:
    rows = 200
    inputs = tf.constant(np.tile(EMBEDDING[[1, 1]], (rows, 1, 1)))
    chances = tf.constant([0.0, 0.25] * (rows // 2))
    helper = seq2seq.ScheduledEmbeddingTrainingHelper(inputs, [2] * rows, tf.constant(EMBEDDING), chances, seed=1)
    decoder = seq2seq.BasicDecoder(Counter(), helper, tf.zeros([rows, 1], tf.float64))
    drawn = run(seq2seq.dynamic_decode(decoder)[0].sample_id) >= 0
    assert not drawn[::2].any() and 0.1 < drawn[1::2].mean() < 0.4  # five standard errors


@pytest.mark.parametrize("probability", [0.0, 1.0])
@pytest.mark.parametrize("auxiliary", [True, False])
def test_scheduled_sampling_reads_given_inputs_or_its_own_outputs(probability: float, auxiliary: bool) -> None:
    class Plus(rnn_cell.RNNCell):
        state_size = output_size = 1

        def call(self, inputs: Any, state: Any) -> Any:
            return tf.reduce_sum(inputs, 1, keepdims=True) + 1, state

    helper = seq2seq.ScheduledOutputTrainingHelper(
        tf.constant([[[5.0], [6], [7]], [[8], [9], [10]]]),
        [3, 2],
        probability,
        next_inputs_fn=lambda outputs: outputs * 2,
        auxiliary_inputs=tf.constant([[[100.0], [200], [300]]] * 2) if auxiliary else None,
    )
    decoder = seq2seq.BasicDecoder(Plus(), helper, tf.zeros([2, 1]))
    outputs, _, _ = run(seq2seq.dynamic_decode(decoder))
    expected = np.array([[6.0, 7, 8], [9, 10, 11]]) + (np.array([100, 200, 300]) if auxiliary else 0)
    if probability:
        for step in (1, 2):
            expected[:, step] = 2 * expected[:, step - 1] + 1 + (100 * (step + 1) if auxiliary else 0)
    np.testing.assert_array_equal(outputs.rnn_output[0, :, 0], expected[0])
    np.testing.assert_array_equal(outputs.rnn_output[1, :2, 0], expected[1, :2])
    assert (outputs.sample_id == probability).all()
