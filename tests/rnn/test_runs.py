"""Cells run over sequences: static_rnn, dynamic_rnn, their bidirectional forms, raw_rnn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import rnn_cell
from penstock.rnn.bidirectional import bidirectional_dynamic_rnn, stack_bidirectional_dynamic_rnn
from penstock.rnn.dynamic import dynamic_rnn
from penstock.rnn.raw import raw_rnn
from penstock.rnn.static import static_bidirectional_rnn, static_rnn
from tests.rnn.reference import lstm_run

XS = np.random.default_rng(1).normal(size=(3, 5, 2))
LENGTHS = [2, 4, 0]


@pytest.fixture(autouse=True)
def fresh_graph() -> Any:
    with tf.Graph().as_default():
        tf.get_variable_scope().set_initializer(tf.random_uniform_initializer(-0.5, 0.5, seed=1))
        yield


def run(fetches: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run([fetches, tf.trainable_variables()], feed)


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_a_dynamic_run_is_the_equations_step_by_step(lengths: Any, known: bool, time_major: bool) -> None:
    xs = XS.swapaxes(0, 1) if time_major else XS
    x = tf.placeholder(tf.float64, xs.shape if known else [None, None, 2])
    n = None if lengths is None else tf.placeholder(tf.int64, [3] if known else [None])
    outputs, state = dynamic_rnn(rnn_cell.BasicLSTMCell(4), x, n, dtype=tf.float64, time_major=time_major)
    assert outputs.shape.as_list() == [*x.shape.as_list()[:2], 4]
    feed = {x: xs} if n is None else {x: xs, n: lengths}
    (got, got_state), variables = run((outputs, state), feed)
    expected, c, h = lstm_run(XS, lengths or [5] * 3, *variables)
    np.testing.assert_allclose(got.swapaxes(0, 1) if time_major else got, expected, atol=1e-12)
    np.testing.assert_allclose(got_state.c, c)
    np.testing.assert_allclose(got_state.h, h)


@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_a_static_run_is_the_equations_step_by_step(lengths: Any) -> None:
    steps = [tf.constant(XS[:, t]) for t in range(5)]
    outputs, state = static_rnn(rnn_cell.BasicLSTMCell(4), steps, dtype=tf.float64, sequence_length=lengths)
    (got, got_state), variables = run((outputs, state))
    expected, c, _ = lstm_run(XS, lengths or [5] * 3, *variables)
    np.testing.assert_allclose(np.stack(got, 1), expected, atol=1e-12)
    np.testing.assert_allclose(got_state.c, c)


def test_a_bidirectional_run_turns_each_row_by_its_length() -> None:
    cells = rnn_cell.BasicLSTMCell(4), rnn_cell.BasicLSTMCell(3)
    x = tf.constant(XS)
    (fw, bw), (_, state_bw) = bidirectional_dynamic_rnn(*cells, x, LENGTHS, dtype=tf.float64)
    (got_fw, got_bw, got_state), variables = run((fw, bw, state_bw))
    assert [v.op.name for v in tf.trainable_variables()] == [
        f"bidirectional_rnn/{way}/basic_lstm_cell/{part}" for way in ("fw", "bw") for part in ("kernel", "bias")
    ]
    turned = XS.copy()
    for row, n in enumerate(LENGTHS):
        turned[row, :n] = XS[row, :n][::-1]
    expected, c, _ = lstm_run(turned, LENGTHS, *variables[2:])
    for row, n in enumerate(LENGTHS):
        expected[row, :n] = expected[row, :n][::-1].copy()
    np.testing.assert_allclose(got_fw, lstm_run(XS, LENGTHS, *variables[:2])[0], atol=1e-12)
    np.testing.assert_allclose(got_bw, expected, atol=1e-12)
    np.testing.assert_allclose(got_state.c, c)


@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_static_and_dynamic_bidirectional_runs_agree(lengths: Any) -> None:
    cells = rnn_cell.GRUCell(4), rnn_cell.GRUCell(3)
    x = tf.constant(XS)
    pair, _ = bidirectional_dynamic_rnn(*cells, x, lengths, dtype=tf.float64)
    outputs, _, _ = static_bidirectional_rnn(*cells, tf.unstack(x, axis=1), dtype=tf.float64, sequence_length=lengths)
    (one, other), _ = run((tf.concat(pair, 2), tf.stack(outputs, 1)))
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_a_stack_of_bidirectional_runs_feeds_each_layer_both_outputs_of_the_one_below() -> None:
    def cells() -> list[Any]:
        return [rnn_cell.GRUCell(4), rnn_cell.GRUCell(3)]

    outputs, fw, _ = stack_bidirectional_dynamic_rnn(cells(), cells(), tf.constant(XS), dtype=tf.float64)
    assert outputs.shape.as_list() == [3, 5, 6]
    assert len(fw) == 2
    kernel = "stack_bidirectional_rnn/cell_1/bidirectional_rnn/bw/gru_cell/gates/kernel"
    assert {v.op.name: v.shape.as_list() for v in tf.global_variables()}[kernel] == [11, 6]


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("make", [rnn_cell.GRUCell, rnn_cell.BasicLSTMCell])
def test_training_through_a_dynamic_run_follows_finite_differences(make: Any, lengths: Any) -> None:
    x = tf.constant(XS)
    outputs, _ = dynamic_rnn(make(2), x, lengths, dtype=tf.float64)
    loss = tf.reduce_sum(outputs * np.arange(1.0, 3.0)) + tf.reduce_sum(tf.square(outputs))
    kernel = tf.trainable_variables()[0]
    values = [x, kernel.value()]
    grads = tf.gradients(loss, [x, kernel])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        start = session.run(kernel)
        got_x, got_kernel = session.run(grads)
        assert values[0].shape == got_x.shape
        for index in [(0, 0), (1, 1), (3, 2)]:
            ends = []
            for move in (1e-5, -1e-5):
                moved = start.copy()
                moved[index] += move
                kernel.load(moved, session)
                ends.append(session.run(loss))
            assert got_kernel[index] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)
        kernel.load(start, session)
        for place in [(0, 0, 1), (1, 2, 0), (0, 4, 1)]:
            step = np.zeros_like(XS)
            step[place] = 1e-5
            ends = [session.run(loss, {x: XS + step}), session.run(loss, {x: XS - step})]
            assert got_x[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6, abs=1e-9)


def test_a_raw_run_can_do_what_a_dynamic_one_does() -> None:
    cell = rnn_cell.BasicLSTMCell(4)
    x, n = tf.constant(XS.swapaxes(0, 1)), tf.constant(LENGTHS)

    def loop_fn(time: Any, output: Any, state: Any, loop_state: Any) -> Any:
        after = cell.zero_state(3, tf.float64) if output is None else state
        count = tf.constant(0) if loop_state is None else loop_state + 1
        finished = time >= n
        following = tf.gather(x, tf.minimum(time, 4))
        following.set_shape([3, 2])
        return finished, following, after, output, count

    arrays, state, count = raw_rnn(cell, loop_fn)
    (got, got_state, got_count), variables = run((arrays.stack(), state, count))
    expected, c, _ = lstm_run(XS, LENGTHS, *variables)
    np.testing.assert_allclose(got.swapaxes(0, 1), expected[:, :4], atol=1e-12)
    np.testing.assert_allclose(got_state.c, c)
    assert got_count == 4


def test_what_a_raw_run_emits_may_have_an_unknown_shape() -> None:
    cell = rnn_cell.GRUCell(4)
    like = tf.placeholder_with_default(np.zeros([2], np.int32), None)

    def loop_fn(time: Any, output: Any, state: Any, _: Any) -> Any:
        following, finished = tf.zeros([3, 2]), time >= tf.constant([4, 4, 2])
        if output is None:
            return finished, following, cell.zero_state(3, tf.float32), like, None
        return finished, following, state, tf.tile(tf.reshape(time, [1, 1]), [3, 2]), None

    (got, _) = run(raw_rnn(cell, loop_fn)[0].stack())
    assert got[..., 1].tolist() == [[1, 1, 1], [2, 2, 2], [3, 3, 0], [4, 4, 0]]


def test_a_run_without_state_and_dtype_or_without_a_cell_is_refused() -> None:
    x = tf.constant(XS)
    with pytest.raises(ValueError, match="dtype"):
        dynamic_rnn(rnn_cell.GRUCell(4), x)
    with pytest.raises(TypeError, match="cell"):
        dynamic_rnn("cell", x, dtype=tf.float64)
    with pytest.raises(ValueError, match="empty"):
        static_rnn(rnn_cell.GRUCell(4), [], dtype=tf.float64)
    with pytest.raises(ValueError, match="sequence_length"):
        dynamic_rnn(rnn_cell.GRUCell(4), x, [[1]], dtype=tf.float64)


def test_lengths_for_another_batch_size_fail_in_the_step() -> None:
    n = tf.placeholder(tf.int32, [None])
    outputs, _ = dynamic_rnn(rnn_cell.GRUCell(4), tf.constant(XS), n, dtype=tf.float64)
    with pytest.raises(tf.errors.InvalidArgumentError, match="sequence_length"):
        run(outputs, {n: [1, 2]})
