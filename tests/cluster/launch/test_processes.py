"""Clusters of processes: they start, survive deaths of tasks, and leave nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import penstock as tf
from penstock import errors
from penstock.cluster.launch import places
from penstock.cluster.launch.cluster import Cluster
from penstock.cluster.targets import resolve
from penstock.cluster.wire.endpoint import Endpoint
from penstock.cluster.wire.identity import Expect, Identity, new_incarnation


@pytest.fixture(scope="module", autouse=True)
def _places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """In a folder with a long name: addresses of sockets are short."""
    runtime = tmp_path_factory.mktemp("run") / ("long" * 30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_RUNTIME", str(runtime))
        patch.setenv("PENSTOCK_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield runtime
        assert [path.name for path in runtime.iterdir()] == []


@pytest.fixture(scope="module")
def cluster(_places: Path) -> Iterator[Cluster]:
    with tf.cluster.start("worker=2,ps=1", "shared", dead_s=2.0, progress=lambda tasks: None) as cluster:
        yield cluster


def _within(seconds: float, holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _runs(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False


def test_a_cluster_has_the_tasks_that_were_wanted(cluster: Cluster) -> None:
    assert [(task.job, task.index, task.state) for task in cluster.tasks] == [
        ("worker", 0, "ready"),
        ("worker", 1, "ready"),
        ("ps", 0, "ready"),
    ]
    assert cluster.spec.jobs == ["worker", "ps"] and cluster.target == "penstock://shared"
    assert len({task.pid for task in cluster.tasks} | {os.getpid()}) == 4
    assert all(task.address.startswith("127.0.0.1:") for task in cluster.tasks)


def test_its_target_leads_to_the_first_worker(cluster: Cluster) -> None:
    destination = resolve(cluster.target)
    worker = cluster.tasks[0]
    assert destination.address == worker.address
    with Endpoint(Identity("client", new_incarnation()), destination.token, {}) as client:
        peer = client.peer(destination.address, Expect(worker.task, worker.incarnation))
        assert peer.identity.spec == destination.cluster_id
        assert peer.call("ping") == worker.incarnation


def test_a_killed_task_is_replaced(cluster: Cluster) -> None:
    before = cluster.tasks[1]
    cluster.kill("worker:1")
    cluster.wait(30)
    after = cluster.tasks[1]
    assert after.incarnation != before.incarnation and after.pid != before.pid
    assert (after.restarts, after.why) == (before.restarts + 1, "was killed by SIGKILL")
    assert after.address == before.address
    assert "was killed by SIGKILL" in cluster.logs("worker:1")


def test_a_task_that_hangs_is_replaced(cluster: Cluster) -> None:
    before = cluster.tasks[2]
    os.kill(before.pid, signal.SIGSTOP)
    assert _within(30, lambda: cluster.tasks[2].pid not in (before.pid, 0))
    cluster.wait(30)
    assert cluster.tasks[2].why == "did not answer for 2 s"


def test_names_are_taken_until_the_cluster_ends(cluster: Cluster) -> None:
    with pytest.raises(errors.AlreadyExistsError, match="'shared' runs already"):
        tf.cluster.start("worker=1", "shared", progress=lambda tasks: None)
    assert tf.cluster.names() == ["shared"]
    assert tf.cluster.connect("shared").tasks == cluster.tasks
    with pytest.raises(errors.NotFoundError, match=r"No cluster 'other' runs on this machine\. Running: shared"):
        tf.cluster.connect("other")
    with pytest.raises(errors.NotFoundError, match="No cluster 'other'"):
        resolve("penstock://other")
    assert resolve(cluster.target_of("ps:0")).address == cluster.tasks[2].address
    with pytest.raises(errors.NotFoundError, match="/job:ps/replica:0/task:1 is not a task of cluster 'shared'"):
        resolve(cluster.target_of("ps:1"))


def test_tasks_that_it_does_not_have_are_named(cluster: Cluster) -> None:
    for ask in (cluster.kill, cluster.logs):
        with pytest.raises(errors.NotFoundError, match=r"task:7 is not a task of 'shared'\. It has /job:worker"):
            ask("worker:7")


def test_a_task_that_cannot_start_is_reported_with_what_it_wrote(_places: Path) -> None:
    with pytest.raises(errors.UnavailableError, match=r"(?s)task:0 of cluster .* ended with status 1.*It wrote"):
        tf.cluster.start("worker=1", memory=1 << 20, progress=lambda tasks: None)
    assert set(tf.cluster.names()) <= {"shared"}


def test_more_gpus_than_there_are_is_an_error(_places: Path) -> None:
    with pytest.raises(errors.ResourceExhaustedError, match="need 64 GPUs"):
        tf.cluster.start("worker=1", gpus=64, progress=lambda tasks: None)


_PROGRAM = """
import os, signal, sys, time
import penstock as tf
cluster = tf.cluster.start("worker=1,ps=1", "doomed", progress=lambda tasks: None)
print(cluster._ask("status")["pid"], *(task.pid for task in cluster.tasks), flush=True)
{end}
"""


@pytest.mark.parametrize(
    "end", ["os.kill(os.getpid(), signal.SIGKILL)", "os.kill(os.getpid(), signal.SIGINT)", "pass", "time.sleep(60)"]
)
def test_nothing_outlives_the_program_that_started_the_cluster(end: str) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM.format(end=end)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with program:
        assert program.stdout is not None
        pids = [int(pid) for pid in program.stdout.readline().split()]
        assert len(pids) == 3
        if "sleep" in end:
            os.kill(pids[0], signal.SIGKILL)  # its keeper: the tasks go with it
            assert _within(5, lambda: not any(map(_runs, pids)))
            program.kill()
    assert _within(10, lambda: not any(map(_runs, pids)))
    assert "doomed" not in tf.cluster.names()


def _command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "penstock", "cluster", *arguments], capture_output=True, text=True, timeout=120
    )


def test_commands_start_show_and_stop_a_cluster_that_outlives_them(_places: Path) -> None:
    started = _command("start", "worker=1,ps=1", "--name", "long", "--cpus", "1")
    assert started.returncode == 0 and "tf.Session('penstock://long')" in started.stdout, started.stderr
    try:
        tf.cluster.connect("long").kill("ps:0")
        tf.cluster.connect("long").wait(30)
        status = _command("status", "long").stdout
        assert "long: 2 of 2 tasks ready, on processes" in status and "/job:ps/replica:0/task:0" in status
        assert "was killed by SIGKILL" in _command("logs", "long", "ps:0").stdout
    finally:
        stopped = _command("stop", "long")
    assert stopped.stdout == "long is stopped.\n"
    assert _command("stop", "long").returncode == 1
    assert "long" not in places.names()


def test_a_socket_that_a_killed_keeper_left_is_recognised(_places: Path) -> None:
    places.listen("stale").close()
    assert (_places / "stale.sock").exists()
    assert "stale" not in places.names() and not (_places / "stale.sock").exists()
    places.listen("stale").close()
    places.listen("stale").close()
    places.give_up("stale")


def test_a_folder_that_others_can_enter_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_RUNTIME", str(tmp_path))
    tmp_path.chmod(0o755)
    with pytest.raises(errors.PermissionDeniedError, match="others cannot enter"):
        places.names()
