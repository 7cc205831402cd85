"""Connections that end: silence, kills, close, forks; and that nothing is left of them."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import queue
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from penstock import errors
from penstock.cluster.wire import WireOptions
from penstock.cluster.wire.peer import Handler, Peer
from tests.cluster.wire.endpoints import ECHO, PS, QUICK, WORKER, endpoint, in_thread, two
from tests.cluster.wire.processes import stop, task


def _descriptors() -> set[str]:
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the one of the listing
            found.add(f"{name} {os.readlink(f'/proc/self/fd/{name}')}")
    return found


def _waits(peer: Peer, method: str, *args: Any) -> tuple[threading.Thread, list[Any]]:
    """A thread that calls, and what it gets."""
    got: list[Any] = []

    def call() -> None:
        try:
            got.append(peer.call(method, *args))
        except Exception as error:
            got.append(error)

    return in_thread(call), got


@pytest.fixture(scope="module")
def neighbour() -> Iterator[tuple[int, str]]:
    """Another process and its address. Tests that stop it let it go on."""
    with task() as (process, address):
        yield process.pid, address


@contextlib.contextmanager
def _stopped(neighbour: tuple[int, str], options: WireOptions = QUICK) -> Iterator[Peer]:
    """A connection to another process, which is stopped."""
    pid, address = neighbour
    with endpoint(options=options) as client:
        peer = client.peer(address, timeout=30)
        assert peer.call("echo", 1) == (1,)
        stop(pid)
        try:
            yield peer
        finally:
            os.kill(pid, signal.SIGCONT)


def test_a_killed_task_ends_calls_at_once_and_the_error_names_it() -> None:
    with task() as (process, address), endpoint() as client:
        peer = client.peer(address, timeout=30)
        told: queue.Queue[Any] = queue.Queue()
        peer.on_lost(told.put)
        thread, got = _waits(peer, "wait", 60)
        answers: queue.Queue[Any] = queue.Queue()
        peer.start("wait", 60, done=answers.put)
        start = time.monotonic()
        process.kill()
        thread.join(5)
        assert time.monotonic() - start < 2
        for error in (got[0], answers.get(timeout=5), told.get(timeout=5)):
            assert isinstance(error, errors.UnavailableError) and WORKER in str(error) and address in str(error)
        with pytest.raises(errors.UnavailableError):
            peer.call("echo")
        with pytest.raises(errors.UnavailableError):
            peer.tell("echo")
        now: list[Any] = []
        peer.on_lost(now.append)
        assert len(now) == 1
        peer.start("echo", done=now.append)
        assert len(now) == 2
        with pytest.raises(errors.UnavailableError):
            client.peer(address, timeout=0.1)


def test_a_task_that_falls_silent_is_lost_after_dead_s(neighbour: tuple[int, str]) -> None:
    with _stopped(neighbour) as peer:
        start = time.monotonic()
        with pytest.raises(errors.UnavailableError, match=f"{WORKER}.*nothing came from it"):
            peer.call("echo", 1)
        assert 0.3 < time.monotonic() - start < 5


def test_a_call_with_much_data_ends_at_its_deadline_though_nobody_reads(neighbour: tuple[int, str]) -> None:
    with _stopped(neighbour, WireOptions(dead_s=30, shared_bytes=0)) as peer:
        start = time.monotonic()
        with pytest.raises(errors.DeadlineExceededError):
            peer.call("echo", b"x" * 30_000_000, timeout=0.1)
        assert time.monotonic() - start < 5


def test_a_tell_to_a_task_that_reads_nothing_ends_when_it_is_lost(neighbour: tuple[int, str]) -> None:
    with _stopped(neighbour) as peer:
        start = time.monotonic()
        with pytest.raises(errors.UnavailableError):
            for _ in range(100_000):
                peer.tell("echo", b"x" * 10_000)
        assert time.monotonic() - start < 5


def test_ctrl_c_while_data_is_sent_leaves_the_connection_usable(neighbour: tuple[int, str]) -> None:
    pid, address = neighbour
    with endpoint() as client:
        peer = client.peer(address, timeout=30)
        assert peer.call("echo", 1) == (1,)
        stop(pid)
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            for _ in range(100_000):
                peer.tell("echo inline", b"x" * 100_000)
        os.kill(pid, signal.SIGCONT)
        assert peer.call("echo", 2, timeout=5) == (2,)


def test_a_quiet_connection_lives_on() -> None:
    with two(options=WireOptions(ping_s=0.1, dead_s=1.0)) as peer:
        time.sleep(1.6)
        assert peer.lost is None and peer.call("echo", 1) == (1,)


def test_a_process_that_stood_still_itself_loses_nobody(neighbour: tuple[int, str]) -> None:
    """The answers to its pings are there, but it has not read them."""
    with endpoint(options=QUICK) as client:
        peer = client.peer(neighbour[1], timeout=30)
        ctypes.PyDLL(None).usleep(1_000_000)  # with the GIL: no thread of this process runs
        time.sleep(0.3)
        assert peer.lost is None and peer.call("echo", 1) == (1,)


def test_close_ends_calls_of_both_sides() -> None:
    go = threading.Event()
    with two({"wait": Handler(lambda peer: go.wait(20))}) as peer:
        thread, got = _waits(peer, "wait")
        time.sleep(0.1)
        go.set()
        thread.join(5)
        assert got == [True]
    with endpoint(WORKER, {"wait": Handler(lambda peer: go.wait(20))}) as worker, endpoint() as client:
        go.clear()
        peer = client.peer(f"127.0.0.1:{worker.listen('127.0.0.1')}")
        thread, got = _waits(peer, "wait")
        time.sleep(0.1)
        closing = in_thread(client.close)
        thread.join(5)
        assert isinstance(got[0], errors.UnavailableError)
        go.set()
        closing.join(5)
        with pytest.raises(errors.CancelledError, match="closed"):
            client.peer(f"127.0.0.1:{worker.listen('127.0.0.1')}")
        client.close()


def test_both_sides_may_connect_at_once() -> None:
    with endpoint(WORKER) as a, endpoint(PS) as b:
        at = [f"127.0.0.1:{e.listen('127.0.0.1')}" for e in (a, b)]
        peers: list[Peer] = []
        threads = [in_thread(lambda: peers.append(a.peer(at[1]))) for _ in range(3)]
        threads += [in_thread(lambda: peers.append(b.peer(at[0]))) for _ in range(3)]
        for thread in threads:
            thread.join(5)
        assert len(peers) == 6 and len(set(map(id, peers))) == 2
        assert all(peer.call("echo", 1) == (1,) for peer in peers)


def test_close_leaves_no_threads_and_no_descriptors() -> None:
    with two() as peer:
        peer.call("echo", 1)
    gc.collect()
    threads, descriptors = _threads(), _descriptors()
    for _ in range(5):
        with two() as peer:
            waiting = [in_thread(lambda: peer.call("echo", torch.ones(300_000))) for _ in range(5)]
            for thread in waiting:
                thread.join()
        with two(), contextlib.suppress(errors.UnavailableError), endpoint() as lonely:
            lonely.peer("127.0.0.1:9", timeout=0.1)
    gc.collect()
    assert _threads() <= threads
    assert _descriptors() <= descriptors


def _threads() -> set[threading.Thread]:
    """Those that do not serve what other tests keep running."""
    return {each for each in threading.enumerate() if not each.name.startswith(("wire /job:worker", "wire /job:ps"))}


def test_a_forked_child_leaves_the_parents_connections_alone() -> None:
    with two() as peer:
        assert peer.call("echo", 1) == (1,)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                peer.call("echo", 1)
            except errors.UnavailableError as error:
                os.write(write, str(error).encode())
            finally:
                os._exit(0)
        os.close(write)
        os.waitpid(child, 0)
        assert b"forked" in os.read(read, 1000)
        os.close(read)
        assert peer.call("echo", 2) == (2,)
        gc.collect()


def test_a_lost_task_can_be_connected_again() -> None:
    with endpoint(WORKER, ECHO) as worker, endpoint() as client:
        address = f"127.0.0.1:{worker.listen('127.0.0.1')}"
        peer = client.peer(address)
        assert peer.call("echo", 1) == (1,)
        worker.peers[0].lose("for a test")
        lost = threading.Event()
        peer.on_lost(lambda _: lost.set())
        assert lost.wait(5)
        again = client.peer(address)
        assert again is not peer and again.call("echo", 1) == (1,)
        assert client.peer(address) is again
