"""Variables in parts: how they are cut, used, trained, saved whole, and shared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


VALUE = np.arange(14, dtype=np.float32).reshape(7, 2)


def whole(**kwargs: Any) -> Any:
    return tf.get_variable("w", initializer=tf.constant(VALUE), partitioner=tf.fixed_size_partitioner(3), **kwargs)


def test_the_first_parts_take_what_the_division_leaves() -> None:
    w = whole()
    assert [(v.op.name, v.shape.as_list()) for v in w] == [
        ("w/part_0", [3, 2]), ("w/part_1", [2, 2]), ("w/part_2", [2, 2]),
    ]  # fmt: skip
    assert tf.global_variables() == tf.trainable_variables() == list(w)
    assert (w.name, w.shape.as_list(), w.dtype, len(w)) == ("w", [7, 2], tf.float32, 3)
    assert tf.convert_to_tensor(w).op.name == "w"
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(tf.identity(w)), VALUE)
        np.testing.assert_array_equal(session.run(w.as_tensor()), VALUE)
        np.testing.assert_array_equal(session.run(tf.nn.embedding_lookup(w, [6, 0], "div")), VALUE[[6, 0]])
        session.run(w.assign(VALUE * 2))
        np.testing.assert_array_equal(session.run(w + 1.0), VALUE * 2 + 1)


def test_a_partitioner_of_ones_makes_one_part_and_scalars_none() -> None:
    one = tf.get_variable("one", [4], partitioner=lambda shape, dtype: [1])
    assert [v.op.name for v in one] == ["one/part_0"]
    assert tf.get_variable("scalar", [], partitioner=tf.fixed_size_partitioner(2)).op.name == "scalar"


def test_an_initializer_is_told_which_part_it_makes() -> None:
    seen = []

    def initializer(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        seen.append((list(shape), partition_info.full_shape, partition_info.var_offset))
        return tf.zeros(shape, dtype)

    tf.get_variable("v", [2, 5], initializer=initializer, partitioner=tf.fixed_size_partitioner(2, axis=1))
    assert seen == [([2, 3], [2, 5], [0, 0]), ([2, 2], [2, 5], [0, 3])]


@pytest.mark.parametrize("optimizer", [tf.train.GradientDescentOptimizer(0.1), tf.train.MomentumOptimizer(0.1, 0.9)])
def test_training_changes_every_part(optimizer: Any) -> None:
    loss = tf.reduce_sum(tf.square(tf.matmul(tf.ones([1, 7]), whole())))
    step = optimizer.minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        gradient = 2 * VALUE.sum(0)
        for v, old in zip(tf.trainable_variables(), np.split(VALUE, [3, 5]), strict=True):
            np.testing.assert_allclose(session.run(v), old - 0.1 * gradient, rtol=1e-5)


def test_checkpoints_hold_the_whole_and_other_cuts_read_it(tmp_path: Path) -> None:
    loss = tf.reduce_sum(tf.square(whole()))
    tf.train.MomentumOptimizer(0.0, 0.9).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, tmp_path / "model")
    assert tf.train.list_variables(prefix) == [("w", [7, 2]), ("w/Momentum", [7, 2])]
    np.testing.assert_array_equal(tf.train.load_variable(prefix, "w"), VALUE)
    for partitioner in (None, tf.fixed_size_partitioner(2), tf.fixed_size_partitioner(2, axis=1)):
        with tf.Graph().as_default():
            w = tf.get_variable("w", [7, 2], partitioner=partitioner)
            with tf.Session() as session:
                tf.train.Saver([w]).restore(session, prefix)
                np.testing.assert_array_equal(session.run(tf.identity(w)), VALUE)
        with tf.Graph().as_default():
            with tf.variable_scope("new", partitioner=partitioner):
                w = tf.get_variable("w", [7, 2])
            tf.train.init_from_checkpoint(prefix, {"/": "new/"})
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                np.testing.assert_array_equal(session.run(tf.identity(w)), VALUE)


def test_a_scope_shares_partitioned_variables_as_it_does_others() -> None:
    w = whole()
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        assert tf.get_variable("w", [7, 2]) is w
        with pytest.raises(ValueError, match=r"specified shape \(6, 2\)"):
            tf.get_variable("w", [6, 2])
        with pytest.raises(ValueError, match="does not exist"):
            tf.get_variable("x", [2], partitioner=tf.fixed_size_partitioner(2))
    with tf.variable_scope("", reuse=tf.AUTO_REUSE):
        assert whole() is w
    with pytest.raises(ValueError, match="w already exists"):
        whole()
    with pytest.raises(ValueError, match="No partitioner was provided"):
        tf.get_variable("w", [7, 2])
    tf.get_variable("plain", [4])
    with pytest.raises(ValueError, match="unpartitioned version"):
        tf.get_variable("plain", [4], partitioner=tf.fixed_size_partitioner(2))


def test_the_slots_of_the_parts_are_saved_as_whole_slots(tmp_path: Path) -> None:
    tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(tf.square(whole())))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, tmp_path / "model")
    shapes = dict(tf.train.list_variables(prefix))
    assert shapes == {"w": [7, 2], "w/Adam": [7, 2], "w/Adam_1": [7, 2], "beta1_power": [], "beta2_power": []}


@pytest.mark.parametrize("partitions", [[2, 2], [3], [0, 1], 4])
def test_cuts_that_do_not_fit_are_refused(partitions: Any) -> None:
    with pytest.raises(ValueError, match=r"more than one dimension|one positive number for each dim"):
        tf.get_variable("v", [4, 4], partitioner=lambda **_: partitions)


def test_partitioners_count_shards_and_bytes() -> None:
    shape = tf.TensorShape([64, 8])
    assert tf.fixed_size_partitioner(5)(shape=shape, dtype=tf.float32) == [5, 1]
    assert tf.fixed_size_partitioner(50, axis=1)(shape=shape, dtype=tf.float32) == [1, 8]
    by_size = tf.variable_axis_size_partitioner(3 * 32 + 5)  # 3 rows of 32 bytes
    assert by_size(shape=shape, dtype=tf.float32) == [22, 1]
    assert by_size(shape=shape, dtype=tf.float64) == [64, 1]
    assert tf.variable_axis_size_partitioner(96, max_shards=4)(shape=shape, dtype=tf.float32) == [4, 1]
    assert tf.variable_axis_size_partitioner(256)(shape=shape, dtype=tf.string) == [32, 1]
    at_least = tf.min_max_variable_partitioner(max_partitions=16, min_slice_size=512)
    assert at_least(shape=shape, dtype=tf.float32) == [4, 1]
    assert at_least(shape=tf.TensorShape([640, 80]), dtype=tf.float32) == [16, 1]
    assert at_least(shape=tf.TensorShape([2]), dtype=tf.float32) == [1]
    with pytest.raises(ValueError, match="positive"):
        tf.variable_axis_size_partitioner(0)


def test_create_partitioned_variables_lists_the_parts() -> None:
    parts = tf.create_partitioned_variables([4, 3], [1, 3], tf.ones_initializer(), name="table")
    assert [(v.op.name, v.shape.as_list()) for v in parts] == [(f"table/part_{i}", [4, 1]) for i in range(3)]
    assert tf.create_partitioned_variables([2], [2], tf.ones_initializer())[1].op.name == "PartitionedVariable/part_1"
    shared = tf.create_partitioned_variables([4, 3], [1, 3], tf.ones_initializer(), name="table", reuse=True)
    assert shared == parts


def test_layers_take_kernels_in_parts_and_average_whole_statistics() -> None:
    with tf.variable_scope("m", partitioner=tf.fixed_size_partitioner(2)):
        y = tf.layers.batch_normalization(tf.layers.dense(tf.ones([3, 4]), 6), training=True)
    names = [v.op.name for v in tf.global_variables()]
    assert "m/dense/kernel/part_1" in names and "m/batch_normalization/moving_mean" in names
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([y, tf.get_collection(tf.GraphKeys.UPDATE_OPS)])[0].shape == (3, 6)


def test_an_initial_value_may_come_with_its_shape() -> None:
    w = whole(shape=[7, 2])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(tf.convert_to_tensor(w)), VALUE)
    with pytest.raises(ValueError, match="cannot be cut into 9 parts along axis 0"):
        tf.get_variable("u", initializer=tf.constant(VALUE), partitioner=lambda **_: [9, 1])
    with pytest.raises(ValueError, match=r"has shape \(7, 2\), not the given \(2, 7\)"):
        tf.get_variable("v", [2, 7], initializer=tf.constant(VALUE), partitioner=tf.fixed_size_partitioner(3))


def test_what_an_initializer_is_told_of_its_part_says_along_which_axis_it_is_cut() -> None:
    from penstock.client.partitioned_variable import PartitionInfo

    part = PartitionInfo([6, 4], [2, 0])
    assert (part.single_slice_dim([3, 4]), part.single_offset([3, 4])) == (0, 2)
    assert PartitionInfo([6, 4], [0, 0]).single_offset([6, 4]) == 0
    for wrong, error in [([3, 3], ValueError), ([5, 4], ValueError), ([3], ValueError), (None, TypeError)]:
        with pytest.raises(error):
            part.single_slice_dim(wrong)
    for shape, offset, error in [([6], [6], ValueError), ([6, 4], [1], ValueError), (None, [0], TypeError)]:
        with pytest.raises(error):
            PartitionInfo(shape, offset)


def test_a_partitioned_variable_is_shared_in_the_same_parts_only() -> None:
    with tf.Graph().as_default():
        for parts, words in [(2, None), (3, r"specified partitions \[3\] and found partitions \[2\]")]:
            with tf.variable_scope("s", reuse=tf.AUTO_REUSE, partitioner=tf.fixed_size_partitioner(parts)):
                if words is None:
                    assert len(list(tf.get_variable("v", [6]))) == 2
                    continue
                with pytest.raises(ValueError, match=words):
                    tf.get_variable("v", [6])
