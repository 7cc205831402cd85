"""What may be a key of a feed_dict: tensors, sparse tensors, and tuples of them in any depth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import penstock as tf


class State(NamedTuple):
    c: tf.Tensor
    h: tf.Tensor


def test_a_tuple_of_tensors_is_fed_a_tuple_of_values() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a, b, c = (tf.placeholder(tf.float32, []) for _ in range(3))
        state, y = State(a, b), a + b * 2.0
        z = y + c * 100.0
        for value in ((1, 2), State(1, 2), [1, 2]):
            assert session.run(y, {state: value}) == 5
        assert session.run(y, {(a.name, b.name): (1, 2)}) == 5
        for nested in (((1, 2), 3), (State(1, 2), 3), (1, 2, 3)):
            assert session.run(z, {(state, c): nested}) == 305
        assert session.make_callable(z, [state, c])((1, 2), 3) == 305
        handle = session.partial_run_setup([y, z], [state, c])
        assert session.partial_run(handle, y, {state: (1, 2)}) == 5
        assert session.partial_run(handle, z, {c: 3}) == 305


def test_the_state_of_a_network_is_fed_back_as_it_was_fetched() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        cell = tf.contrib.rnn.MultiRNNCell([tf.contrib.rnn.BasicLSTMCell(3) for _ in range(2)])
        initial = cell.zero_state(2, tf.float32)
        x = tf.placeholder(tf.float32, [2, 4, 5])
        outputs, _ = tf.nn.dynamic_rnn(cell, x, initial_state=initial)
        session.run(tf.global_variables_initializer())
        value = np.linspace(-1, 1, 40, dtype=np.float32).reshape(2, 4, 5)
        whole = session.run(outputs, {x: value})
        with tf.variable_scope(tf.get_variable_scope(), reuse=True):
            y = tf.placeholder(tf.float32, [2, 2, 5])
            part, after = tf.nn.dynamic_rnn(cell, y, initial_state=initial)
        first, state = session.run([part, after], {y: value[:, :2]})
        second = session.run(part, {y: value[:, 2:], initial: state})
        np.testing.assert_allclose(np.concatenate([first, second], 1), whole, rtol=1e-5, atol=1e-6)


def test_sparse_tensors_may_be_in_a_structure() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a, sparse = tf.placeholder(tf.float32, []), tf.sparse_placeholder(tf.float32)
        total = tf.sparse_reduce_sum(sparse) + a
        value = tf.SparseTensorValue([[0, 0], [1, 1]], [2.0, 4.0], [2, 2])
        assert session.run(total, {(a, sparse): (1, value)}) == 7
        assert (
            session.run(total, {(a, (sparse.indices, sparse.values), sparse.dense_shape): (1, value[:2], [2, 2])}) == 7
        )
        with pytest.raises(TypeError, match="SparseTensor must be a SparseTensorValue or a tuple of its 3"):
            session.run(total, {a: 1.0, sparse: 3.0})


def test_what_does_not_fit_a_structure_is_said() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.placeholder(tf.float32, [], name="a"), tf.placeholder(tf.float32, [], name="b")
        y = a + b
        for value, count in (((1, 2, 3), 3), (1, 1), (np.array([1.0, 2.0]), 1)):
            with pytest.raises(ValueError, match=f"2 tensors must have the same structure, but it has {count}"):
                session.run(y, {(a, b): value})
        with pytest.raises(ValueError, match="fed twice"):
            session.run(y, {(a, b): (1, 2), a: 3})
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key 'no'"):
            session.run(y, {(a, "no"): (1, 2)})
