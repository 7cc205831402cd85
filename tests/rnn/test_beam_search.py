"""Beam search against one written out in Python."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import rnn_cell
from penstock.contrib import seq2seq

RNG = np.random.default_rng(5)
VOCABULARY, END, START = 4, 0, 1
SCORES = RNG.normal(size=(VOCABULARY, VOCABULARY)) * 1.5  # of the next id, by the last one
SCORES = SCORES - np.log(np.exp(SCORES).sum(1, keepdims=True))


@pytest.fixture(autouse=True)
def fresh_graph() -> Any:
    with tf.Graph().as_default():
        yield


class Chain(rnn_cell.RNNCell):
    """Scores by the id it reads, which is the state's and its input's."""

    state_size, output_size = 1, VOCABULARY

    def call(self, inputs: Any, state: Any) -> Any:
        ids = tf.cast(inputs[:, 0], tf.int32)
        return tf.gather(tf.constant(SCORES), ids), state * 10 + inputs


def decoder(batch: int, width: int, **kwargs: Any) -> Any:
    return seq2seq.BeamSearchDecoder(
        Chain(),
        lambda ids: tf.cast(tf.expand_dims(ids, -1), tf.float64),
        tf.fill([tf.constant(batch) if kwargs.pop("known", True) else tf.placeholder_with_default(batch, [])], START),
        END,
        tf.zeros([batch * width, 1], tf.float64),
        width,
        **kwargs,
    )


def run(found: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(found)


def penalty(length: int, weight: float) -> float:
    return float(((5 + length) / 6) ** weight)


def searched(width: int, steps: int, weight: float) -> list[tuple[float, list[int]]]:
    """The beams after `steps` steps, the best first: (score, ids up to the end)."""
    beams: list[tuple[float, list[int], int]] = [(0.0, [], 0)]
    for _ in range(steps):
        grown = []
        for total, ids, length in beams:
            if ids and ids[-1] == END:
                grown.append((total / penalty(length, weight), total, ids, length))
                continue
            for next_id, score in enumerate(SCORES[ids[-1] if ids else START]):
                counted = length + (next_id != END)  # by which it is chosen; the end is counted after
                grown.append(((total + score) / penalty(counted, weight), total + score, [*ids, next_id], length + 1))
        grown.sort(key=lambda beam: -beam[0])
        beams = [(total, ids, length) for _, total, ids, length in grown[:width]]
        last = [score for score, *_ in grown[:width]]
        if all(ids[-1] == END for _, ids, _ in beams):
            break
    return [(score, ids) for score, (_, ids, _) in zip(last, beams, strict=True)]


@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("known", [True, False])
def test_beams_are_those_of_a_search_written_out(width: int, weight: float, known: bool) -> None:
    search = decoder(2, width, length_penalty_weight=weight, known=known)
    outputs, state, lengths = run(seq2seq.dynamic_decode(search, maximum_iterations=5))
    assert outputs.predicted_ids.shape[0] == 2 and outputs.predicted_ids.shape[2] == width
    for row in range(2):
        for beam, (score, ids) in enumerate(searched(width, 5, weight)):
            found = outputs.predicted_ids[row, :, beam]
            np.testing.assert_array_equal(found[: len(ids)], ids)
            assert (found[len(ids) :] == END).all()
            assert lengths[row, beam] == len(ids)
            np.testing.assert_allclose(outputs.beam_search_decoder_output.scores[row, -1, beam], score)
            # The cell's state went with its beam: it has read all ids but the last.
            read = int("".join(map(str, [START, *ids[:-1]])))
            assert str(int(state.cell_state[row, beam, 0])).startswith(str(read))


def test_a_wide_beam_finds_the_most_likely_sequence_of_all() -> None:
    best = max(
        itertools.product(range(1, VOCABULARY), repeat=3),
        key=lambda ids: sum(SCORES[a, b] for a, b in itertools.pairwise((START, *ids))),
    )
    outputs, _, _ = run(seq2seq.dynamic_decode(decoder(1, 64), maximum_iterations=3))
    ids = outputs.predicted_ids[0].T
    unfinished = [list(row) for row in ids if END not in row]
    assert unfinished[0] == list(best)


def test_attention_histories_come_in_the_order_of_the_final_beams() -> None:
    width, units = 3, 4
    memory = seq2seq.tile_batch(tf.constant(RNG.normal(size=(2, 5, units)).astype("float32")), width)
    embedding = tf.constant(RNG.normal(size=(VOCABULARY, 3)).astype("float32"))
    initializer = tf.random_normal_initializer(seed=4)

    with tf.variable_scope("", initializer=initializer):
        mechanism = seq2seq.LuongAttention(units, memory, seq2seq.tile_batch(tf.constant([5, 3]), width))
        cell = seq2seq.AttentionWrapper(rnn_cell.GRUCell(units), mechanism, units, alignment_history=True)
        layer = tf.layers.Dense(VOCABULARY)
        start = cell.zero_state(2 * width, tf.float32)
        search = seq2seq.BeamSearchDecoder(
            cell, embedding, tf.fill([2], START), END, start, width, layer, coverage_penalty_weight=0.1
        )
        outputs, state, lengths = seq2seq.dynamic_decode(search, maximum_iterations=4)
        history = state.cell_state.alignment_history
        assert isinstance(history, tf.Tensor)
        # The same ids, read one by one without any search.
        ids = tf.placeholder(tf.int32, [2 * width, None])
        read = tf.nn.embedding_lookup(embedding, tf.concat([tf.fill([2 * width, 1], START), ids[:, :-1]], 1))
        helper = seq2seq.TrainingHelper(read, tf.fill([2 * width], tf.shape(ids)[1]))
        _, again, _ = seq2seq.dynamic_decode(seq2seq.BasicDecoder(cell, helper, start, layer))
        expected = again.alignment_history.stack()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        words, found, sizes = session.run([outputs.predicted_ids, history, lengths])
        plain = session.run(expected, {ids: np.swapaxes(words, 1, 2).reshape(2 * width, -1)})
    for row, beam in itertools.product(range(2), range(width)):
        size, column = sizes[row, beam], row * width + beam
        np.testing.assert_allclose(found[:size, column], plain[:size, column], rtol=1e-5, atol=1e-6)


def test_an_array_is_sorted_by_the_parents_of_beams() -> None:
    parents = tf.constant([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]])
    array = tf.constant(np.arange(9.0).reshape(3, 3, 1))
    found = run(seq2seq.gather_tree_from_array(array, parents, [[3, 3, 2]]))
    np.testing.assert_array_equal(found[:, :, 0], [[1, 1, 1], [5, 4, 5], [6, 7, 8]])


def test_rows_are_tiled_one_by_one_in_any_nest() -> None:
    state = rnn_cell.LSTMStateTuple(tf.constant([[1.0], [2]]), tf.placeholder_with_default([3, 4], [None]))
    tiled = seq2seq.tile_batch(state, multiplier=2)
    assert tiled.c.shape.as_list() == [4, 1] and tiled.h.shape.as_list() == [None]
    c, h = run(tiled)
    np.testing.assert_array_equal(c[:, 0], [1, 1, 2, 2])
    np.testing.assert_array_equal(h, [3, 3, 4, 4])
    with pytest.raises(ValueError, match="rank"):
        seq2seq.tile_batch(tf.constant(1), 2)


def test_a_state_that_was_not_tiled_is_refused() -> None:
    with pytest.raises(ValueError, match="tile_batch"):
        seq2seq.BeamSearchDecoder(Chain(), lambda ids: ids, [1, 1], END, tf.zeros([2, 1]), 3)
