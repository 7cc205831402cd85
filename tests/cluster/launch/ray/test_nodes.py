"""Ray's own failures: of nodes, of its head, and of what was started for a cluster whose keeper is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import penstock as tf
from penstock import errors
from penstock.cluster.launch.cluster import Cluster, Task
from penstock.cluster.launch.ray.folders import Folder, remove_left
from tests.cluster.launch.ray.nodes import Nodes, several_nodes

pytest.importorskip("ray", reason="Ray is not installed (pip install 'penstock[cluster]')")

LOST = (errors.UnavailableError, errors.AbortedError)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_RUNTIME", str(tmp_path / "run"))
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    with several_nodes(3) as started:
        yield started


def _start(on: str) -> Cluster:
    return tf.cluster.start("worker=1,ps=1", "of-nodes", on=on, dead_s=3.0, timeout=60, progress=lambda tasks: None)


def _await(holds: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _replaced(cluster: Cluster, before: Task) -> bool:
    now = {task.task: task for task in cluster.tasks}[before.task]
    return now.state == "ready" and now.incarnation != before.incarnation


def test_training_outlives_nodes_and_the_head_is_missed(nodes: Nodes, tmp_path: Path) -> None:
    with _start(nodes.address) as cluster, tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            step = tf.train.get_or_create_global_step()
            twice = tf.get_variable("twice", initializer=0.0)
        with tf.device("/job:worker/task:0"):
            write = twice.assign_add(1000.0)
            train = tf.group(tf.assign_add(step, 1), tf.assign_add(twice, 2.0))
        hooks = [tf.train.CheckpointSaverHook(str(tmp_path / "saved"), save_steps=5)]
        with tf.train.MonitoredTrainingSession(
            cluster.target, hooks=hooks, checkpoint_dir=str(tmp_path / "saved"), save_checkpoint_secs=None
        ) as training:

            def train_until(last: int) -> None:
                done = 0
                while done < last:
                    training.run(train)
                    done, value = training.run([step, twice])
                    assert value == 2 * done

            train_until(10)
            _a_node_is_lost(nodes, cluster, twice)
            train_until(20)
            _a_node_is_cut_off(nodes, cluster, twice, write)
            train_until(30)
        nodes.kill_head()
        with pytest.raises(errors.UnavailableError, match=r"Ray's head at .* does not answer"):
            _await(lambda: not cluster.tasks, 20)
        with pytest.raises(errors.UnavailableError, match="Ray's head"):
            cluster.kill("ps:0")


def _a_node_is_lost(nodes: Nodes, cluster: Cluster, value: tf.Variable) -> None:
    before = cluster.tasks[1]
    with tf.Session(cluster.target) as session:
        session.run(value)
        nodes.kill_raylet_of(before)
        os.kill(before.pid, signal.SIGKILL)
        started = time.monotonic()
        with pytest.raises(LOST):
            session.run(value)
        assert time.monotonic() - started < 5
    _await(lambda: _replaced(cluster, before), 40)
    nodes.add()


def _a_node_is_cut_off(nodes: Nodes, cluster: Cluster, value: tf.Variable, write: tf.Tensor) -> None:
    """Its task goes on for some seconds, and so do sessions that know no better: what they write is lost with it."""
    before = cluster.tasks[1]
    with tf.Session(cluster.target) as stale:
        stale.run(value)
        nodes.kill_raylet_of(before)
        _await(lambda: _replaced(cluster, before), 40)
        with tf.Session(cluster.target) as session:
            session.run(value.initializer)
            assert stale.run(write) > 1000.0
            assert session.run(value) == 0.0
        os.kill(before.pid, signal.SIGKILL)
        with pytest.raises(LOST):
            stale.run(write)


def test_a_cluster_whose_own_ray_loses_its_head_says_so_and_leaves_nothing() -> None:
    cluster = _start("ray")
    keeper = cluster._ask("status")["pid"]
    with tf.Graph().as_default(), tf.device("/job:ps/task:0"):
        constant = tf.square(3.0)
        with tf.Session(cluster.target) as session:
            assert session.run(constant) == 9.0
            os.kill(_processes(keeper)["gcs_server"], signal.SIGKILL)
            with pytest.raises(errors.UnavailableError, match=r"Ray's head at .* the tasks have ended with it"):
                _await(lambda: not cluster.tasks, 10)
            with pytest.raises(LOST):
                session.run(constant)
        for ask in (cluster.wait, lambda: cluster.kill("ps:0"), lambda: cluster.spec):
            with pytest.raises(errors.UnavailableError, match="Ray's head"):
                ask()
        with pytest.raises(errors.FailedPreconditionError, match="Ray's head"):
            tf.Session(cluster.target).run(constant)
    cluster.stop()
    _await(lambda: not _processes(keeper), 5)
    assert not _left()


def test_nothing_is_left_of_a_ray_whose_keeper_was_killed() -> None:
    cluster = _start("ray")
    keeper = cluster._ask("status")["pid"]
    os.kill(keeper, signal.SIGKILL)
    cluster.stop()
    _await(lambda: not _processes(keeper), 5)
    assert not _left()


def test_a_folder_is_removed_only_after_its_keeper() -> None:
    mine = Folder()
    remove_left()
    assert mine.path.exists()
    mine.remove()
    assert not mine.path.exists()


def _processes(session: int) -> dict[str, int]:
    """By name, without those that have ended."""
    listed = subprocess.run(["ps", "-s", str(session), "-o", "pid=,stat=,comm="], capture_output=True, text=True)
    rows = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
    return {name: int(pid) for pid, state, name in rows if not state.startswith("Z")}


def _left() -> list[Path]:
    """Of folders whose keeper has ended: other programs may have their own."""
    here = Path("/tmp")
    before = set(here.glob("penstock-ray-*"))
    remove_left()
    return sorted(before - set(here.glob("penstock-ray-*")))
