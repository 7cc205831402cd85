"""What cannot run in a cluster: errors name node, task and device, and the cluster stays usable."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
import penstock.cluster
from penstock import errors
from penstock.cluster.server import Server
from penstock.cluster.wire import frames
from tests.anywhere import SECONDS, alarm as alarm
from tests.cluster.servers import outside as outside, running

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"
PS_DEVICE = "/job:ps/replica:0/task:0/device:CPU:0"
MUCH = 1 << 28
"""Of float32: 1 GiB, as much as goes through shared memory."""


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture(scope="module")
def small() -> Iterator[str]:
    """The target of a cluster whose tasks may take 1 GB."""
    with penstock.cluster.start({"worker": 1, "ps": 1}, memory="1000M") as cluster:
        yield cluster.target


def _works(target: str) -> None:
    with tf.Graph().as_default(), tf.device(PS):
        x = tf.placeholder(tf.float32, [2])
        with tf.Session(target) as session:
            assert np.array_equal(session.run(x + 1.0, {x: [1.0, 2.0]}), [2.0, 3.0])


def _constant() -> tuple[Any, dict[Any, Any]]:
    x = tf.placeholder(tf.float32, [])
    return tf.constant(np.zeros(MUCH + MUCH // 8, np.float32), name="big") * x, {x: 1.0}


def _variable() -> tuple[Any, dict[Any, Any]]:
    return tf.get_variable("big", [MUCH, 2], initializer=tf.ones_initializer()).initializer, {}


def _product() -> tuple[Any, dict[Any, Any]]:
    x = tf.placeholder(tf.float32, [1 << 15, 1])
    return tf.reduce_sum(tf.matmul(x, x, transpose_b=True, name="big")), {x: np.zeros((1 << 15, 1))}


@pytest.mark.parametrize("build", [_constant, _variable, _product])
def test_what_does_not_fit_into_a_task(small: str, build: Callable[[], tuple[Any, dict[Any, Any]]]) -> None:
    signal.alarm(4 * SECONDS)  # to have so much memory takes long on some machines
    with tf.device(PS):
        fetch, feeds = build()
    message = f"(?s)the memory of {PS_DEVICE}: .*big.*built at .*{__name__[-8:]}"
    with tf.Session(small) as session, pytest.raises(errors.ResourceExhaustedError, match=message):
        session.run(fetch, feeds)
    _works(small)


def test_a_feed_that_does_not_fit_into_a_task(small: str) -> None:
    signal.alarm(4 * SECONDS)
    with tf.device(PS):
        x = tf.placeholder(tf.float32, [MUCH + MUCH // 8])
        y = x[0] + 1.0
    with tf.Session(small) as session:
        with pytest.raises(errors.ResourceExhaustedError, match="ps/replica:0/task:0 has no memory"):
            session.run(y, {x: np.zeros(MUCH + MUCH // 8, np.float32)})
        _works(small)


@pytest.fixture
def servers(outside: None) -> Iterator[dict[str, Server]]:
    with running(worker=1, ps=1) as found:
        yield found


def test_a_value_from_another_task_that_does_not_fit(
    servers: dict[str, Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_memory(size: int) -> Any:
        raise MemoryError

    with tf.device(WORKER):
        size = tf.placeholder(tf.int32, [])
        filled = tf.fill([size], 2.0, name="filled")
    with tf.device(PS):
        total = tf.reduce_sum(filled)
    with tf.Session(servers["worker:0"].target) as session:
        assert session.run(total, {size: 50000}) == 100000
        with monkeypatch.context() as patch:
            patch.setattr(frames, "fresh_memory", no_memory)
            with pytest.raises(
                errors.ResourceExhaustedError, match=f"no memory for the 200000 bytes of filled:0 to {PS_DEVICE}"
            ):
                session.run(total, {size: 50000})
        assert session.run(total, {size: 50000}) == 100000, "the connection is still there"


@pytest.mark.parametrize("device", ["/job:worker/task:0/device:GPU:0", "/job:worker/task:7", "/job:master"])
def test_a_device_that_no_task_has(servers: dict[str, Server], device: str) -> None:
    x = tf.placeholder(tf.float32, [2])
    with tf.device(device):
        y = tf.sin(x, name="nowhere")
    target = servers["worker:0"].target
    with tf.Session(target) as session:
        with pytest.raises(errors.InvalidArgumentError, match=f"(?s)nowhere.*{device}.*{PS_DEVICE}.*built at"):
            session.run(y, {x: [1.0, 2.0]})
        assert np.allclose(session.run(tf.cos(x), {x: [1.0, 2.0]}), np.cos([1.0, 2.0]))
    with tf.Session(target, config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert np.allclose(session.run(y, {x: [1.0, 2.0]}), np.sin([1.0, 2.0]))


def _call() -> tf.Tensor:
    return tf.py_func(lambda x: x + 1, [tf.constant([1.0])], tf.float32, name="mine")


def _mapped() -> tf.Tensor:
    data = tf.data.Dataset.range(3).map(lambda x: tf.py_func(lambda y: y, [x], tf.int64))
    return data.make_one_shot_iterator().get_next()


@pytest.mark.parametrize("build", [_call, _mapped])
def test_python_functions_run_on_the_clients_own_task(
    servers: dict[str, Server], build: Callable[[], tf.Tensor]
) -> None:
    with tf.device(PS):
        y = build()
    wanted = f"(?s)cannot run on {PS_DEVICE}.*own task.*built at"
    with tf.Session(servers["worker:0"].target) as session, pytest.raises(errors.InvalidArgumentError, match=wanted):
        session.run(y)
    _works(servers["worker:0"].target)


def test_python_functions_of_a_client_that_is_a_task() -> None:
    with running(worker=1, ps=1) as servers:
        y = _call()
        with tf.Session(servers["worker:0"].target) as session:
            assert session.run(y) == [2.0]


def test_a_variable_without_a_value_says_on_which_task(servers: dict[str, Server]) -> None:
    with tf.device(PS):
        lost = tf.Variable(1.0, name="lost")
    with tf.device(WORKER):
        used = lost * 2.0
    target = servers["worker:0"].target
    with tf.Session(target) as session:
        session.run(lost.initializer)
        tf.Session.reset(target)
    with tf.Session(target) as session:
        for fetch in (lost, used):
            with pytest.raises(errors.FailedPreconditionError, match=r"(?s)lost.*ps/replica:0/task:0"):
                session.run(fetch)
        session.run(lost.initializer)
        assert session.run(used) == 2.0
