"""Groups over devices, variables in parts, and the names of layers: as in TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import penstock as tf
from penstock.client.partitioned_variable import PartitionedVariable


@pytest.fixture(autouse=True)
def _own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def test_a_group_is_on_the_device_of_what_it_waits_for() -> None:
    with tf.device("/task:0"):
        a, b = tf.constant(0, name="a"), tf.constant(0, name="b")
    one = tf.group(a, b, name="one")
    assert (one.name, one.device, [op.name for op in one.control_inputs]) == ("one", "/task:0", ["a", "b"])
    with tf.device("/task:1"):
        c = tf.constant(0, name="c")
    with tf.device("/task:2"):
        both = tf.group(a, b, c, name="both")
    assert (both.name, both.device) == ("both", "/task:2")
    assert [(op.name, op.device) for op in both.control_inputs] == [
        ("both/NoOp", "/task:0"),
        ("both/NoOp_1", "/task:1"),
    ]
    assert [[i.name for i in op.control_inputs] for op in both.control_inputs] == [["a", "b"], ["c"]]


def part(offset: int) -> Any:
    variable = tf.Variable([offset])
    variable._set_save_slice_info(tf.Variable.SaveSliceInfo("whole", [2], [offset], [1]))
    return variable


def test_the_parts_of_a_variable_are_put_in_order() -> None:
    first, second = part(0), part(1)
    whole = PartitionedVariable("whole", [2], tf.int32, [second, first], [2])
    assert list(whole) == [first, second]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(tf.convert_to_tensor(whole)).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("parts", "shape", "partitions", "words"),
    [
        (list, [2], [2], "empty"),
        (lambda: [tf.Variable([0])], [1], [1], "must have a save_slice_info"),
        (lambda: [part(0), part(1)], [3], [2], "full shapes must match"),
        (lambda: [part(0), part(1)], [2], [0], "must be positive"),
    ],
)
def test_parts_that_are_not_of_one_variable_are_refused(parts: Any, shape: Any, partitions: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        PartitionedVariable("whole", shape, tf.int32, parts(), partitions)


def test_reading_a_partitioned_variable_waits_for_nothing() -> None:
    before = tf.constant(1.0)
    with tf.control_dependencies([before]):
        whole = tf.get_variable("whole", [4], partitioner=tf.fixed_size_partitioner(2))
        read = whole.as_tensor()
    assert read.op.control_inputs == []
    assert read.op.inputs[0].op.control_inputs == []


def test_a_layer_without_a_name_counts_from_one_and_its_variables_from_none() -> None:
    named, first, second = tf.layers.Dense(2, name="mine"), tf.layers.Dense(2), tf.layers.Dense(2)
    for layer in (named, first, second):
        layer(tf.zeros([1, 3]))
    assert [layer.name for layer in (named, first, second)] == ["mine", "dense_1", "dense_2"]
    kernels = [layer.weights[0].name for layer in (named, first, second)]
    assert kernels == ["mine/kernel:0", "dense/kernel:0", "dense_1/kernel:0"]


def test_a_weight_added_outside_of_a_call_is_in_the_layer_s_scope() -> None:
    layer = tf.layers.Layer(name="mine")
    weight = layer.add_weight("w", [2])
    assert weight.name == "mine/w:0"
    assert layer.add_weight("v", [2], trainable=False).name == "mine/v:0"


def test_branches_that_give_a_list_and_a_tuple_are_told_apart() -> None:
    with pytest.raises(TypeError, match="same sequence type"):
        tf.cond(tf.constant(True), lambda: [tf.constant(2)], lambda: (tf.constant(3),), strict=True)
