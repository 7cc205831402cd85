"""Values between tasks: as 16 bits if asked for, and not before they are needed."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
import torch

import penstock as tf
from penstock import errors
from penstock.cluster.server import Server
from penstock.cluster.worker.session import WorkerSession
from penstock.runtime.rendezvous import Key
from tests.anywhere import alarm as alarm
from tests.cluster.servers import outside as outside, running
from tests.cluster.traffic import Counter, sent as sent

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


@pytest.fixture
def servers() -> Iterator[dict[str, Server]]:
    with tf.Graph().as_default(), running(worker=1, ps=1) as found:
        yield found


def _compressing() -> tf.ConfigProto:
    config = tf.ConfigProto()
    config.graph_options.enable_bfloat16_sendrecv = True
    return config


def _timing() -> tf.ConfigProto:
    config = tf.ConfigProto()
    config.graph_options.enable_recv_scheduling = True
    return config


# --- 16 bits --------------------------------------------------------------------------------------------


def test_sixteen_bits_halve_what_travels(servers: dict[str, Server], outside: None, sent: Counter) -> None:
    value = np.random.RandomState(1).randn(1 << 18).astype(np.float32)
    with tf.device(PS):
        variable = tf.Variable(value)
    with tf.device(WORKER):
        total = tf.identity(variable) * 1.0
    bytes_of = {}
    for name, config in (("all", None), ("half", _compressing())):
        with tf.Session(servers["worker:0"].target, config=config) as session:
            session.run(variable.initializer)
            found = session.run(total)
            sent.since()
            session.run(total.op)
            bytes_of[name] = sent.since()
        upper = (value.view(np.uint32) & 0xFFFF0000).view(np.float32)
        np.testing.assert_array_equal(found, upper if name == "half" else value)
    assert value.nbytes <= bytes_of["all"] < 1.02 * value.nbytes
    assert value.nbytes / 2 <= bytes_of["half"] < 1.02 * value.nbytes / 2


@contextlib.contextmanager
def running_with_two_devices() -> Iterator[str]:
    server = tf.train.Server.create_local_server(config=tf.ConfigProto(device_count={"CPU": 2}))
    try:
        yield server.target
    finally:
        server.close()


def test_devices_of_one_task_exchange_all_bits(outside: None) -> None:
    value = np.float32([1.0000001, 3.1415927])
    with tf.Graph().as_default(), running_with_two_devices() as target:
        with tf.device("/device:CPU:0"):
            one = tf.placeholder(tf.float32, [2]) * 1.0
        with tf.device("/device:CPU:1"):
            two = one * 1.0
        with tf.Session(target, config=_compressing()) as session:
            np.testing.assert_array_equal(session.run(two, {one.op.inputs[0]: value}), value)


# --- late -----------------------------------------------------------------------------------------------

COUNT, SIZE = 12, 384


def _fan_in() -> tuple[tf.Tensor, tf.Tensor]:
    """Many large values are ready at once on the parameter server, and used one after the other by the worker."""
    with tf.device(PS):
        x = tf.placeholder(tf.float32, [SIZE, SIZE])
        parts = [x * float(i + 1) for i in range(COUNT)]
    with tf.device(WORKER):
        total = tf.zeros([SIZE, SIZE])
        for part in parts:
            total = tf.matmul(total + part, part)
    return x, total


class Received:
    """How many bytes of values from other tasks live at once, at most, and in how many messages they came."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.most = 0
        self.messages = 0
        here: list[weakref.ref[torch.Tensor]] = []
        deliver = WorkerSession.deliver

        def noted(session: WorkerSession, step: int, items: list[tuple[Key, torch.Tensor]]) -> None:
            self.messages += 1
            here.extend(weakref.ref(value) for _, value in items)
            live = [value for value in (each() for each in here) if value is not None]
            self.most = max(self.most, sum(value.nbytes for value in live))
            del live
            deliver(session, step, items)

        monkeypatch.setattr(WorkerSession, "deliver", noted)


def test_values_that_are_used_late_come_late(
    servers: dict[str, Server], outside: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, total = _fan_in()
    value = np.full((SIZE, SIZE), 1e-3, np.float32)
    found, most = {}, {}
    for name, config in (("early", None), ("late", _timing())):
        with tf.Session(servers["worker:0"].target, config=config) as session:
            session.run(total, {x: value})
            with monkeypatch.context() as patch:
                received = Received(patch)
                # How many come early depends on who is faster; none does when they come late.
                for _ in range(5):
                    found[name] = session.run(total, {x: value})
            most[name] = received.most
            if name == "late":
                plan = session._runner(total, {x: value})[0]
                assert "with timed Recvs" in plan.source
    np.testing.assert_array_equal(found["early"], found["late"])
    assert most["late"] <= 4 * value.nbytes < most["early"]


def test_a_step_fails_where_values_are_held(servers: dict[str, Server], outside: None) -> None:
    threads = threading.active_count()
    x, total = _fan_in()
    with tf.device(WORKER):
        fails = tf.Assert(tf.reduce_sum(x) < 0, ["too large"])
        with tf.control_dependencies([fails]):
            total = total + 1.0
    with tf.Session(servers["worker:0"].target, config=_timing()) as session:
        for _ in range(2):
            with pytest.raises(errors.InvalidArgumentError, match="too large"):
                session.run(total, {x: np.ones((SIZE, SIZE), np.float32)})
        assert np.isfinite(session.run(total, {x: np.full((SIZE, SIZE), -1e-3, np.float32)})).all()
    assert threading.active_count() < threads + 30
