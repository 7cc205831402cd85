"""Recurrent networks of a seeded graph: the numbers that a book on machine learning prints under TensorFlow 1.15.

Their ops have no seeds of their own: each gets the number of nodes before it, as TensorFlow 1.15 counts them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.contrib import seq2seq
from penstock.graph.scopes import seed_count

FIRST = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 0, 1]])
SECOND = np.array([[9, 8, 7], [0, 0, 0], [6, 5, 4], [3, 2, 1]])


def _run(fetches: Any, feeds: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def test_a_static_network_starts_from_the_books_weights() -> None:
    with tf.Graph().as_default():
        tf.set_random_seed(42)
        steps = [tf.placeholder(tf.float32, [None, 3]) for _ in range(2)]
        outputs, _ = tf.nn.static_rnn(tf.nn.rnn_cell.BasicRNNCell(5), steps, dtype=tf.float32)
        found = _run(outputs[0], dict(zip(steps, (FIRST, SECOND), strict=True)))
    printed = [[0.30741334, -0.32884315, -0.6542847, -0.9385059, 0.52089024],
               [0.99122757, -0.9542541, -0.7518079, -0.9995208, 0.9820235]]  # fmt: skip
    np.testing.assert_allclose(found[:2], printed, rtol=1e-5)


def test_a_dynamic_network_with_lengths_starts_from_the_books_weights() -> None:
    with tf.Graph().as_default():
        tf.set_random_seed(42)
        x, lengths = tf.placeholder(tf.float32, [None, 2, 3]), tf.placeholder(tf.int32, [None])
        _, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(5), x, dtype=tf.float32, sequence_length=lengths)
        found = _run(state, {x: np.stack([FIRST, SECOND], 1), lengths: [2, 1, 2, 2]})
    printed = [[-0.9998612, 0.6702289, 0.9723653, 0.6631046, 0.74457586],
               [-0.9999526, 0.9681953, 0.96002865, 0.98706263, 0.85459226],
               [-0.9613586, 0.9568762, 0.7132288, 0.97729224, -0.0958299]]  # fmt: skip
    np.testing.assert_allclose(found[1:], printed, rtol=1e-5)


def test_what_comes_after_a_dynamic_network_starts_from_the_books_weights() -> None:
    def series(t: np.ndarray) -> np.ndarray:
        return t * np.sin(t) / 3 + 2 * np.sin(t * 5)

    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(42)
        x, y = (tf.placeholder(tf.float32, [None, 20, 1]) for _ in range(2))
        outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(100, activation=tf.nn.relu), x, dtype=tf.float32)
        outputs = tf.reshape(tf.layers.dense(tf.reshape(outputs, [-1, 100]), 1), [-1, 20, 1])
        loss = tf.reduce_mean(tf.square(outputs - y))
        train = tf.train.AdamOptimizer(learning_rate=0.001).minimize(loss)
        session.run(tf.global_variables_initializer())
        times = np.random.RandomState(42).rand(50, 1) * (30 - 20 * 0.1) + np.arange(0.0, 21) * 0.1
        values = series(times)[:, :, None]
        feeds = {x: values[:, :-1], y: values[:, 1:]}
        session.run(train, feeds)
        np.testing.assert_allclose(session.run(loss, feeds), 13.907029, rtol=1e-6)


def test_cells_make_all_their_variables_before_they_compute() -> None:
    """The seeds of a GRU's and of an LSTM's kernels, as TensorFlow counts its nodes (of tf.compat.v1, 2.21)."""
    cells = {
        (21, 35): lambda: tf.nn.rnn_cell.GRUCell(5),
        (31, 45, 55, 65, 75): lambda: tf.nn.rnn_cell.LSTMCell(4, use_peepholes=True, num_proj=3),
    }
    for wanted, make in cells.items():
        with tf.Graph().as_default() as graph:
            tf.set_random_seed(7)
            x = tf.placeholder(tf.float32, [None, 4, 3])
            tf.placeholder(tf.int32, [None])
            tf.nn.static_rnn(make(), tf.unstack(x, axis=1), dtype=tf.float32)
            kernels = [op for op in graph.get_operations() if op.type == "RandomUniform"]
            assert tuple(op.get_attr("seed2") for op in kernels) == wanted


def _decoded(batch: int | None, helper_of: Any, attention: Any = None, **settings: Any) -> list[int]:
    """The seeds of the weights and draws of a decoder with a layer, and how many nodes there are then."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        x, lengths = tf.placeholder(tf.float32, [batch, 7, 3]), tf.placeholder(tf.int32, [batch])
        if attention is None:
            cell, helper = tf.nn.rnn_cell.BasicLSTMCell(4), helper_of(x, lengths)
        else:
            cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(4), attention(4, x), attention_layer_size=6)
            helper = helper_of(x, lengths)
        state = cell.zero_state(tf.shape(x)[0], tf.float32)
        decoder = seq2seq.BasicDecoder(cell, helper, state, tf.layers.Dense(5))
        seq2seq.dynamic_decode(decoder, **settings)
        drawn = ("RandomUniform", "Multinomial")
        seeds = [op.get_attr("seed2") for op in graph.get_operations() if op.type in drawn]
        return [*seeds, seed_count()]


def _embedding() -> Any:
    return tf.get_variable("e", [5, 3])


def _first(x: Any) -> Any:
    return tf.fill([tf.shape(x)[0]], 1)


@pytest.mark.parametrize(
    ("helper", "settings", "unknown", "known"),
    [
        (lambda x, n: seq2seq.TrainingHelper(x, n), {}, [137, 171, 263], [135, 169, 261]),
        (
            lambda x, n: seq2seq.TrainingHelper(x, n),
            {"maximum_iterations": 5},
            [151, 185, 279],
            [149, 183, 277],
        ),
        (lambda x, n: seq2seq.TrainingHelper(x, n), {"impute_finished": True}, [137, 171, 269], [135, 169, 267]),
        (
            lambda x, n: seq2seq.TrainingHelper(x, n),
            {"attention": seq2seq.LuongAttention},
            [5, 225, 239, 308, 324, 422],
            [5, 205, 219, 271, 287, 385],
        ),
        (
            lambda x, n: seq2seq.TrainingHelper(x, n),
            {"attention": seq2seq.BahdanauAttention},
            [5, 225, 239, 295, 307, 334, 350, 448],
            [5, 205, 219, 258, 270, 297, 313, 411],
        ),
        (
            lambda x, n: seq2seq.GreedyEmbeddingHelper(_embedding(), _first(x), 2),
            {"maximum_iterations": 5},
            [5, 134, 168, 259],
            [5, 132, 166, 257],
        ),
        (
            lambda x, n: seq2seq.SampleEmbeddingHelper(_embedding(), _first(x), 2),
            {"maximum_iterations": 5},
            [5, 134, 168, 207, 296],
            [5, 132, 166, 205, 294],
        ),
        (
            lambda x, n: seq2seq.ScheduledEmbeddingTrainingHelper(x, n, _embedding(), 0.5),
            {},
            [5, 148, 182, 217, 255, 377],
            [5, 146, 180, 215, 253, 375],
        ),
    ],
)
def test_decoders_draw_with_tensorflows_seeds(
    helper: Any, settings: dict[str, Any], unknown: list[int], known: list[int]
) -> None:
    """TensorFlow 1.15.5's, with a batch that is unknown, and of 2."""
    assert _decoded(None, helper, **settings) == unknown
    assert _decoded(2, helper, **settings) == known
