"""Clusters whose tasks are actors of Ray: one, which all tests share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock as tf
from penstock import errors
from penstock.cluster.launch.cluster import Cluster
from penstock.cluster.launch.ray import connect
from penstock.cluster.targets import resolve
from penstock.cluster.wire.endpoint import Endpoint
from penstock.cluster.wire.identity import Expect, Identity, new_incarnation

pytest.importorskip("ray", reason="Ray is not installed (pip install 'penstock[cluster]')")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_RUNTIME", str(tmp_path_factory.mktemp("run") / "run"))
        patch.setenv("PENSTOCK_CACHE", str(tmp_path_factory.mktemp("cache")))
        before = set(Path("/tmp").glob("penstock-ray-*"))
        started = tf.cluster.start("worker=1,ps=1", "of-ray", on="ray", dead_s=3.0, progress=lambda tasks: None)
        keeper = started._ask("status")["pid"]
        with started:
            yield started
        assert (
            "raylet"
            not in subprocess.run(["ps", "-s", str(keeper), "-o", "comm"], capture_output=True, text=True).stdout
        )
        assert tf.cluster.names() == []
        assert set(Path("/tmp").glob("penstock-ray-*")) <= before


def test_its_tasks_answer_at_their_own_addresses(cluster: Cluster) -> None:
    destination = resolve(cluster.target)
    assert [task.job for task in cluster.tasks] == ["worker", "ps"] and destination.address == cluster.tasks[0].address
    with Endpoint(Identity("client", new_incarnation()), destination.token, {}) as client:
        for task in cluster.tasks:
            peer = client.peer(task.address, Expect(task.task, task.incarnation))
            assert peer.call("ping") == task.incarnation


def test_steps_run_in_actors_and_state_outlives_sessions(cluster: Cluster) -> None:
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            total = tf.Variable(1.0)
        with tf.device("/job:worker/task:0"):
            add = total.assign_add(tf.reduce_sum([2.0, 3.0]))
        with tf.Session(cluster.target) as session:
            session.run(total.initializer)
            session.run(add)
        with tf.Session(cluster.target_of("ps:0")) as session:
            assert session.run(total) == 6.0


def test_a_killed_actor_is_replaced_by_a_new_one(cluster: Cluster) -> None:
    before = cluster.tasks[1]
    os.kill(before.pid, signal.SIGKILL)
    _await_replacement(cluster, 1, before.pid)
    after = cluster.tasks[1]
    assert after.incarnation != before.incarnation and after.address == before.address
    assert after.why.startswith("died (ActorDiedError)")


def test_an_actor_that_hangs_is_replaced(cluster: Cluster) -> None:
    before = cluster.tasks[0]
    os.kill(before.pid, signal.SIGSTOP)
    _await_replacement(cluster, 0, before.pid)
    assert cluster.tasks[0].why == "did not answer for 3 s"


def test_what_an_actor_writes_is_kept(cluster: Cluster) -> None:
    assert "did not answer for 3 s" in cluster.logs("worker:0")


def _await_replacement(cluster: Cluster, index: int, pid: int) -> None:
    deadline = time.monotonic() + 60
    while cluster.tasks[index].pid in (pid, 0):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    cluster.wait(60)


def test_no_ray_at_an_address_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", *connect._KEEPALIVE):
        monkeypatch.setenv(name, "")  # what is set is set back
    with pytest.raises(errors.UnavailableError, match=r"penstock\[cluster\]"):
        connect.connect("ray", 1.0, None)


def test_a_ray_beyond_loopback_needs_a_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in connect._KEEPALIVE:
        monkeypatch.setenv(name, "")
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(errors.FailedPreconditionError, match=r"The Ray at 10\.0\.0\.1:6379 .* RAY_AUTH_TOKEN"):
        connect.connect("10.0.0.1:6379", 1.0, None)
