"""Variables on parameter servers and the rest on workers: devices are those that TensorFlow gives."""

from __future__ import annotations

import logging

import pytest

import penstock as tf
from tests.train.device_setters import HOSTS, PROGRAMS, devices, recorded

DEVICES = recorded()


@pytest.mark.parametrize("program", PROGRAMS)
def test_nodes_get_the_devices_that_tensorflow_gives_them(program: str) -> None:
    ours, theirs = devices(tf, program), DEVICES[program]
    if "queue" in theirs:  # queues ask for a CPU, which has their only kernels
        theirs["queue"] = theirs["queue"].removesuffix("/device:CPU:*")
    common = ours.keys() & theirs.keys()
    assert {name: ours[name] for name in common} == {name: theirs[name] for name in common}
    assert len(common) > 0.4 * len(theirs)  # the others are parts of gradients and initialisers, built differently


def test_without_parameter_servers_there_is_no_device_function() -> None:
    setter = tf.train.replica_device_setter
    assert setter() is None
    assert setter(cluster={"worker": ["w:1"]}) is None
    assert setter(cluster={"ps": []}) is None
    with tf.device(setter()):
        assert tf.Variable(1.0).device == ""
    with pytest.raises(TypeError, match="ps_strategy must be callable"):
        setter(2, ps_strategy=1)


def test_whole_devices_of_inner_blocks_are_deprecated(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        tf.train.replica_device_setter(1, merge_devices=False)
    assert "merge_devices=true" in caplog.text


def test_variables_go_to_the_task_with_the_fewest_bytes() -> None:
    training = tf.contrib.training
    strategy = training.GreedyLoadBalancingStrategy(2, training.byte_size_load_fn)
    variables = [
        tf.get_variable("a", [10]), tf.get_variable("b", [2]), tf.get_variable("c", [4], use_resource=True),
        tf.get_variable("d", [3], tf.float64),
    ]  # fmt: skip
    assert [strategy(v.op) for v in variables] == [0, 1, 1, 1]
    with pytest.raises(ValueError, match="shape"):
        training.byte_size_load_fn(tf.placeholder(tf.float32, [None]).op)
    again = training.GreedyLoadBalancingStrategy(3, training.byte_size_load_fn)
    with tf.device(tf.train.replica_device_setter(cluster=HOSTS, ps_strategy=again)):
        parts = tf.get_variable("parts", [10, 2], partitioner=tf.fixed_size_partitioner(4))
    assert [part.device for part in parts] == [f"/job:ps/task:{task}" for task in (0, 1, 2, 2)]


def test_a_variable_of_one_name_is_always_on_the_same_task() -> None:
    strategy = tf.contrib.training.RandomStrategy(5, seed=3)
    with tf.device(tf.train.replica_device_setter(5, ps_strategy=strategy)):
        first = [tf.Variable(1.0, name=f"v{i}").device for i in range(20)]
    with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(5, ps_strategy=strategy)):
        again = [tf.Variable(1.0, name=f"v{i}").device for i in reversed(range(20))]
    assert again[::-1] == first and len(set(first)) > 1
