"""Recvs that wait (paper 5.2): less memory on the receiving device, for no more time."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest

import penstock as tf
from bench.device_workloads import fan_in
from bench.own_memory import OwnMemory
from penstock.devices.registry import register_device_type, unregister_device_type
from penstock.partition.recv_timing import time_recvs
from penstock.placement.simulator import simulate
from tests.placement.test_place import _hardware

INPUTS, SIZE = 12, 384


@pytest.fixture
def npu() -> Iterator[OwnMemory]:
    device = OwnMemory()
    register_device_type("NPU", lambda config: [device])
    with tf.Graph().as_default():
        yield device
    unregister_device_type("NPU")


def test_a_wide_fan_in_takes_a_fraction_of_the_memory(npu: OwnMemory) -> None:
    x, total = fan_in(tf, INPUTS, SIZE)
    value = np.full((SIZE, SIZE), 1e-3, np.float32)
    with tf.Session() as session:
        plan = session._runner(total, {x: value})[0]
        timed = session.run(total, {x: value})
        peak = npu.peak
        session._options = dataclasses.replace(session._options, time_recvs=False)
        session._forget_plans()
        npu.peak = 0
        np.testing.assert_array_equal(session.run(total, {x: value}), timed)
    assert peak <= 4 * value.nbytes
    assert npu.peak >= INPUTS // 2 * value.nbytes
    assert npu.now == 0
    assert "with timed Recvs" in plan.source


def test_the_simulator_predicts_the_saving_and_that_it_takes_no_longer() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [SIZE, SIZE])
        parts = [x * float(i) for i in range(INPUTS)]
        total = tf.zeros([SIZE, SIZE])
        for part in parts:
            total = tf.matmul(total + part, part)
        choice = tf.placement.step_choice(total, [x], _hardware())
    here = {part.op.name for part in parts}
    placement = [0 if node.name in here else 1 for node in choice.problem.nodes]
    timing = time_recvs(choice.problem, placement)
    assert timing.timeline.peak[1] < 0.6 * timing.before_timeline.peak[1]
    assert timing.timeline.seconds <= 1.05 * timing.before_timeline.seconds
    assert timing.before_timeline.seconds == simulate(choice.problem, placement).seconds
