"""Tensors that stay in the session, and what a session is as a context manager."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as tf


def test_a_handle_stands_for_a_value_that_later_steps_take_up() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([3.0, 4.0])
        session.run(v.initializer)
        handle, total = session.run([tf.get_session_handle(v * 2), tf.reduce_sum(v)])
        assert total == 7 and handle.eval().tolist() == [6, 8]
        holder, kept = tf.get_session_tensor(handle.handle, tf.float32)
        more = tf.get_session_handle(kept + 1)
        for _ in range(5):
            handle = session.run(more, {holder: handle.handle})
        session.run(v.assign([0.0, 0.0]))
        assert session.run(kept, {holder: handle.handle}).tolist() == [11, 13]
        x = tf.placeholder(tf.float32, [2])
        assert session.run(x - 1, {x: handle}).tolist() == [10, 12]


def test_a_value_is_freed_with_its_handle_unless_that_was_taken_raw() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        make = tf.get_session_handle(tf.constant(["a", "b"]))
        first, second = session.run(make), session.run(make)
        holder, kept = tf.get_session_tensor(first.handle, tf.string)
        gone = first.handle
        first.delete()
        with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
            session.run(kept, {holder: gone})
        with pytest.raises(TypeError, match="already been deleted"):
            first.eval()
        raw = second.get_raw_handle()
        del second
        assert session.run(kept, {holder: raw}).tolist() == [b"a", b"b"]
        place, delete = tf.delete_session_tensor(raw)
        session.run(delete, {place: raw})
        with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
            session.run(kept, {holder: raw})


def test_a_session_is_entered_once_at_a_time() -> None:
    with tf.Graph().as_default():
        session = tf.Session()
        with session, pytest.raises(RuntimeError, match="not re-entrant"), session:
            pass


def test_a_session_that_infers_shapes_writes_them_into_its_graph_def() -> None:
    with tf.Graph().as_default():
        tf.constant(np.zeros([2, 5]))
        shapes = tf.ConfigProto(graph_options=tf.GraphOptions(infer_shapes=True))
        for config, there in [(None, False), (shapes, True)]:
            assert ("_output_shapes" in tf.Session(config=config).graph_def.node[0].attr) is there


def test_a_session_of_an_empty_graph_has_nothing_to_run_and_names_may_be_bytes() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        for nothing in ([], (), {}, None, "a", "a:0"):  # even for what it could not fetch
            with pytest.raises(RuntimeError, match="The Session graph is empty"):
                session.run(nothing)
        assert tf.constant(3.0, name=b"three").name == "three:0"
        assert session.run(b"three:0") == session.run("three:0") == 3
        assert session.run([]) == []
