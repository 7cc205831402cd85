"""Where nodes are that ask for no task: by what links between tasks cost, and the same for all clients."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import penstock as tf
from penstock.cluster.server import Server
from penstock.cluster.worker import links, worker
from penstock.devices import processors
from penstock.placement.hardware import HAND_OVER
from penstock.placement.links import Link
from tests.anywhere import alarm as alarm
from tests.cluster.servers import outside as outside, running


@pytest.fixture
def servers() -> Iterator[dict[str, Server]]:
    with tf.Graph().as_default(), running(worker=2, ps=1) as found:
        yield found


def _devices(session: tf.Session, fetch: tf.Tensor, feeds: dict[tf.Tensor, object]) -> set[str]:
    """Those of the parts of a step."""
    summary = session._runner(fetch, feeds)[0].summary()
    return {line.partition("/device:")[0] for line in summary.splitlines() if line.startswith("/job:")}


def _products(size: int, count: int = 4) -> tuple[tf.Tensor, tf.Tensor]:
    """Long chains of products that have nothing to do with each other until the end."""
    x = tf.placeholder(tf.float32, [size, size])
    ends = []
    for i in range(count):
        y = x * float(i + 2)
        for _ in range(6):
            y = tf.matmul(y, x)
        ends.append(tf.reduce_sum(y))
    return x, tf.add_n(ends)


def test_links_are_measured_once(servers: dict[str, Server], outside: None, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []
    measure = links.measure
    monkeypatch.setattr(links, "measure", lambda peer: measured.append(peer) or measure(peer))
    seen = []
    for _ in range(3):
        with tf.Session(servers["worker:0"].target) as session:
            session._master.wait_for_links()
            hardware = session._master.hardware
            seen.append({hardware.link(a, b) for a in hardware.names for b in hardware.names if a != b})
    assert len(measured) == 1  # all tasks are on one host
    assert seen[0] == seen[1] == seen[2]
    (link,) = seen[0]
    assert HAND_OVER < link.latency < 0.1
    assert 1e7 < link.bytes_per_second < 1e13


def test_large_independent_products_are_spread(servers: dict[str, Server], outside: None) -> None:
    x, total = _products(512)
    value = np.full((512, 512), 1e-3, np.float32)
    with tf.Session(servers["worker:0"].target) as session:
        assert len(_devices(session, total, {x: value})) > 1
        with tf.Session() as local:
            np.testing.assert_allclose(session.run(total, {x: value}), local.run(total, {x: value}), rtol=1e-5)


def test_small_products_stay_on_one_task(servers: dict[str, Server], outside: None) -> None:
    x, total = _products(8)
    with tf.Session(servers["worker:0"].target) as session:
        assert len(_devices(session, total, {x: np.eye(8)})) == 1


def test_products_that_would_compete_for_cores_stay_on_one_task(
    servers: dict[str, Server], outside: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks on one host share its cores: if one task's kernels use all of them, several tasks are not faster."""
    monkeypatch.setattr(worker, "cores_used", lambda device: processors.usable())
    x, total = _products(256)
    with tf.Session(servers["worker:0"].target) as session:
        assert len(_devices(session, total, {x: np.eye(256)})) == 1


def test_slow_links_keep_products_together(
    servers: dict[str, Server], outside: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "measure", lambda peer: Link(10.0, 1e3))
    x, total = _products(512)
    with tf.Session(servers["worker:0"].target) as session:
        assert len(_devices(session, total, {x: np.ones((512, 512))})) == 1


def test_two_clients_place_alike(servers: dict[str, Server], outside: None) -> None:
    """Also if the other's target is the same task, and whatever each has run before."""
    x, total = _products(256)
    variable = tf.Variable(np.ones((256, 256), np.float32))
    result = total + tf.reduce_sum(variable)
    target = servers["worker:0"].target
    feeds = {x: np.full((256, 256), 1e-3, np.float32)}
    with tf.Session(target) as one, tf.Session(target) as two:
        one.run(variable.initializer)
        expected = one.run(result, feeds)
        assert np.isclose(two.run(result, feeds), expected)
        assert _devices(one, result, feeds) == _devices(two, result, feeds)
        assert one._placement.devices[variable.op.name] == two._placement.devices[variable.op.name]
        two.run(variable.assign_add(variable))
        assert np.isclose(one.run(tf.reduce_sum(variable)), 2 * 256**2)
