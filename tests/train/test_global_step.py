"""The global step: made once, found again, checked."""

from __future__ import annotations

import pytest

import penstock as tf


def test_it_is_made_once_and_found_again(graph: tf.Graph, session: tf.Session) -> None:
    assert tf.train.get_global_step() is None
    with tf.name_scope("model"):
        step = tf.train.get_or_create_global_step()
    assert step is tf.train.get_or_create_global_step()
    assert step is tf.train.get_global_step(graph)
    assert (step.name, step.dtype.base_dtype, step.shape) == ("global_step:0", tf.int64, [])
    assert step not in tf.trainable_variables()
    assert step in tf.global_variables()
    with pytest.raises(ValueError, match='"global_step" already exists'):
        tf.train.create_global_step()
    session.run(step.initializer)
    session.run(step.assign_add(5))
    assert tf.train.global_step(session, step) == 5


def test_a_tensor_of_that_name_will_do() -> None:
    step = tf.Variable(0, name="global_step", trainable=False)
    assert tf.train.get_global_step() is step.op.outputs[0]


def test_what_cannot_count_steps_is_refused() -> None:
    with pytest.raises(TypeError, match="integer"):
        tf.train.assert_global_step(tf.Variable(0.0))
    with pytest.raises(TypeError, match="scalar"):
        tf.train.assert_global_step(tf.Variable([0, 1]))
    with pytest.raises(TypeError, match="Variable or Tensor"):
        tf.train.assert_global_step(3)
