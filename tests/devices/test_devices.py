"""Devices of a process: how many, what they are called, and types of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import penstock as tf
from penstock import errors
from penstock.devices.device import Device, device_name
from penstock.devices.registry import register_device_type, unregister_device_type


@pytest.fixture(autouse=True)
def _own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def test_a_session_has_as_many_cpu_devices_as_its_config_says() -> None:
    session = tf.Session(config=tf.ConfigProto(device_count={"CPU": 3}))
    found = session.list_devices()
    assert [d.name for d in found if d.device_type == "CPU"] == [device_name("CPU", i) for i in range(3)]
    assert len({d.incarnation for d in found}) == len(found)
    with pytest.raises(errors.InvalidArgumentError, match="needs a CPU"):
        tf.Session(config=tf.ConfigProto(device_count={"CPU": 0}))


class _Noting(Device):
    """A device of its own kind, which uses the host's kernels and notes what comes to it."""

    def __init__(self) -> None:
        super().__init__(device_name("NPU", 0), "NPU", torch.device("cpu"), 1 << 20, kernel_type="CPU")
        self.came: list[Any] = []

    def receive(self, value: Any, source: Device) -> Any:
        self.came.append((source.type, tuple(value.shape)))
        return value.clone()


def test_a_device_type_of_ones_own_takes_part_in_steps() -> None:
    npu = _Noting()
    npu.torch = torch.device("cpu", 0)  # its own memory, so that what comes to it is received
    register_device_type("NPU", lambda config: [npu])
    try:
        x = tf.placeholder(tf.float32, [2])
        with tf.device("/cpu:0"):
            doubled = x * 2.0
        with tf.device("/device:NPU:0"):
            found = doubled + 1.0
        with tf.Session() as session:
            assert [d.device_type for d in session.list_devices()] == ["CPU", "NPU"]
            np.testing.assert_array_equal(session.run(found, {x: [1.0, 2.0]}), [3.0, 5.0])
        assert npu.came == [("CPU", (2,))]
        with pytest.raises(ValueError, match="already registered"):
            register_device_type("NPU", lambda config: [])
    finally:
        unregister_device_type("NPU")


def test_a_step_that_fails_on_one_device_fails_as_one_and_the_session_stays_usable() -> None:
    x = tf.placeholder(tf.int32, [])
    with tf.device("/cpu:1"):
        bad = tf.constant(1) // x
    with tf.device("/cpu:0"):
        y = bad + 1
        z = y * 2
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        for _ in range(3):
            with pytest.raises(errors.InvalidArgumentError, match=r"(?s)zero.*CPU:1.*test_devices.py"):
                session.run(z, {x: 0})
            assert session.run(z, {x: 1}) == 4


def test_a_trace_has_the_nodes_of_each_device() -> None:
    with tf.device("/cpu:0"):
        a = tf.random_uniform([4], name="a")
    with tf.device("/cpu:1"):
        b = tf.exp(a, name="b")
    metadata = tf.RunMetadata()
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        session.run(b, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    traced = {d.device[-1]: [n.node_name for n in d.node_stats] for d in metadata.step_stats.dev_stats}
    assert "a" in traced["0"] and "b" in traced["1"]


def test_compressed_transfers_keep_sixteen_bits_of_each_float() -> None:
    config = tf.ConfigProto(device_count={"CPU": 2})
    config.graph_options.enable_bfloat16_sendrecv = True
    values = np.array([1.0, -2.5, 3.14159, 1e-30, np.inf, -np.inf, np.nan, 65504.0], np.float32)
    x = tf.placeholder(tf.float32, [8])
    with tf.device("/cpu:0"):
        y = -x
    with tf.device("/cpu:1"):
        z = -y
    exact = (values.view(np.uint32) & 0xFFFF0000).view(np.float32)
    np.testing.assert_array_equal(tf.Session(config=config).run(z, {x: values}), exact)
    config.graph_options.enable_bfloat16_sendrecv = False
    np.testing.assert_array_equal(tf.Session(config=config).run(z, {x: values}), values)


def test_one_tensor_is_compressed_where_it_crosses_and_nowhere_else() -> None:
    values = np.array([1.0, 3.14159, 1e-30], np.float32)
    x = tf.placeholder(tf.float32, [3])
    with tf.device("/cpu:0"):
        lossy, exact = tf.placement.compress_transfers(-x), tf.identity(-x)
        here = -lossy
    with tf.device("/cpu:1"):
        there, whole = -lossy, -exact
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        cut, kept, same = session.run([there, whole, here], {x: values})
    np.testing.assert_array_equal(cut, (values.view(np.uint32) & 0xFFFF0000).view(np.float32))
    np.testing.assert_array_equal(kept, values)
    np.testing.assert_array_equal(same, values)


def test_log_device_placement_says_where_each_node_runs(capfd: Any) -> None:
    with tf.device("/cpu:1"):
        y = tf.add(tf.placeholder_with_default(1.0, []), 2.0, name="sum")
    config = tf.ConfigProto(device_count={"CPU": 2}, log_device_placement=True)
    with tf.Session(config=config) as session:
        session.run(y)
        session.run(y)
    logged = capfd.readouterr().err
    assert logged.count("sum: (AddV2): /job:localhost/replica:0/task:0/device:CPU:1\n") == 1
