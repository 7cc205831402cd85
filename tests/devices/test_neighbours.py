"""Who else uses the processors, by accounts that are written here, and how threads wait for each other then."""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from penstock.devices import neighbours, openmp, processors, waiting
from penstock.devices.neighbours import FIRST_LOOK_S, LOOK_S, Neighbours, read_accounts
from tests.devices.test_processors import in_a_process


class Machine:
    """Two processors, of which others take some, on a clock of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, threads: int = 2, quota: float = 2.0) -> None:
        self.now = self.busy = self.own = 0.0
        self.reads = 0
        self.told: list[bool] = []
        monkeypatch.setattr(processors, "allowed", lambda: 2)
        monkeypatch.setattr(processors, "usable", lambda: quota)
        monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
        self.neighbours = Neighbours(self._read, self.told.append, lambda: self.now)

    def _read(self) -> tuple[float, float]:
        self.reads += 1
        return self.busy, self.own

    def passes(self, seconds: float, others: float, own: float = 1.0) -> None:
        """Time in which others, and this process, keep so many processors busy; and then a look."""
        self.now += seconds
        self.busy += seconds * (others + own)
        self.own += seconds * own
        self.neighbours.look()


def test_what_others_use_is_what_was_not_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    machine.passes(FIRST_LOOK_S, others=0.8)
    assert machine.neighbours.taken == pytest.approx(0.8)
    machine.passes(LOOK_S, others=0.0, own=2.0)
    assert machine.neighbours.taken == pytest.approx(0.0)


def test_threads_sleep_from_when_neighbours_come_until_they_have_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    for others in (0.0, 0.05, 1.0, 1.0, 0.2, 0.0, 0.2, 0.0):
        machine.passes(LOOK_S, others)
    assert machine.told == [True, False]


def test_one_neighbour_is_none_where_processors_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, threads=1)
    machine.passes(LOOK_S, others=1.0)
    assert not machine.told


def test_a_quota_with_less_than_a_processor_for_each_thread_is_a_crowd(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, quota=1.5)
    machine.passes(LOOK_S, others=0.0)
    assert machine.told == [True]


def test_a_look_is_taken_now_and_then_only(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    for _ in range(1000):
        machine.passes(LOOK_S / 100, others=0.0)
    assert 10 <= machine.reads <= 13


def test_where_the_system_tells_nothing_nobody_is_there() -> None:
    told: list[bool] = []
    times = iter(range(100))
    neighbours = Neighbours(lambda: None, told.append, lambda: float(next(times)))
    neighbours.look()
    assert neighbours.taken == 0


def test_a_compiler_of_ours_is_a_neighbour_from_its_start_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    machine.passes(LOOK_S, others=0.0)
    with machine.neighbours.beside():
        assert machine.neighbours.own == machine.neighbours.taken == 1
        assert machine.told == [True]
        machine.passes(LOOK_S, others=1.0)  # the accounts show it as well
        assert machine.neighbours.taken == pytest.approx(1)
        machine.passes(LOOK_S / 2, others=1.0)
    assert machine.told == [True, False]
    machine.passes(FIRST_LOOK_S, others=0.0)
    assert machine.neighbours.taken == pytest.approx(0)
    assert machine.told == [True, False]


def test_others_are_seen_beside_a_compiler_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    with machine.neighbours.beside():
        machine.passes(LOOK_S, others=1.5, own=0.5)
        assert machine.neighbours.taken == pytest.approx(1.5)
    assert machine.neighbours.taken == pytest.approx(0.5)
    assert machine.told == [True]


@pytest.mark.skipif(read_accounts() is None, reason="the system keeps no accounts")
def test_what_threads_compute_beside_steps_is_a_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "_aside", {})
    before = read_accounts()
    neighbours.work_aside(50.0)
    after = read_accounts()
    if before is None or after is None:
        pytest.skip("this system does not tell")
    assert -50.0 <= after[1] - before[1] < -40.0


def test_a_thread_with_a_share_of_the_threads_sees_the_crowd_that_all_of_them_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    assert openmp.threads_together() == 4
    with openmp.Share(1):
        monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
        assert openmp.threads_together() == 4
    assert openmp.threads_together() == 1


def test_the_systems_accounts_only_grow() -> None:
    first, second = read_accounts(), read_accounts()
    assert first is not None
    assert second is not None
    assert all(before <= after for before, after in zip(first, second, strict=True))


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity here")
@pytest.mark.parametrize(("nice", "seconds"), [(0, 20.0), (10, 22.0)])
def test_programs_of_low_priority_count_where_this_one_is_no_better(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, nice: int, seconds: float
) -> None:
    tick = 1 / os.sysconf("SC_CLK_TCK")
    first, second = (
        f"cpu{k} {4 / tick:.0f} {1 / tick:.0f} {3 / tick:.0f} 99999 99 0 0 {3 / tick:.0f} 7 7" for k in (0, 5)
    )
    (tmp_path / "stat").write_text(
        f"cpu 1 2 3 4 5 6 7 8 0 0\n{first}\n{first.replace('cpu0', 'cpu1')}\n{second}\nintr 5 5\n"
    )
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 5})
    monkeypatch.setattr(os, "nice", lambda step: nice)
    found = read_accounts(tmp_path / "stat")
    assert found is not None
    assert found[0] == pytest.approx(seconds)


# --- how threads wait -----------------------------------------------------------------------------------


class Library:
    """An OpenMP runtime that writes down what is asked of it."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.came = threading.Event()
        self.omp_get_thread_num = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 0)

    def GOMP_parallel(self, function: Any, data: Any, threads: Any, flags: Any) -> None:
        self.calls.append(("parallel", threads.value))
        self.came.set()


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    found = Library()
    monkeypatch.setattr(openmp, "library", lambda: found)
    monkeypatch.setattr(waiting, "_crowd", None)
    for name in waiting._SAID:
        monkeypatch.delenv(name, raising=False)
    return found


def crowds() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "penstock-crowd"]


@pytest.mark.parametrize(("threads", "count"), [(4, 2), (1, 5)])
def test_a_crowd_makes_more_openmp_threads_than_processors_and_goes_again(
    monkeypatch: pytest.MonkeyPatch, library: Library, threads: int, count: int
) -> None:
    monkeypatch.setattr(processors, "allowed", lambda: 4)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    before = crowds()
    waiting.wait_asleep(True)
    waiting.wait_asleep(True)
    assert library.came.wait(60)
    (crowd,) = set(crowds()) - set(before)
    assert library.calls == [("parallel", count)]  # beside the others, one of which is the caller's
    waiting.wait_asleep(False)
    waiting.wait_asleep(False)
    crowd.join(60)
    assert not crowd.is_alive()


@pytest.mark.parametrize("name", ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"])
def test_what_the_user_has_said_of_waiting_holds(monkeypatch: pytest.MonkeyPatch, library: Library, name: str) -> None:
    monkeypatch.setenv(name, "active")
    waiting.wait_asleep(True)
    assert waiting._crowd is None
    assert not library.calls


def test_llvms_runtime_is_told_by_its_own_function(library: Library) -> None:
    library.kmp_set_blocktime = lambda ms: library.calls.append(("blocktime", ms))  # type: ignore[attr-defined]
    waiting.wait_asleep(True)
    waiting.wait_asleep(False)
    assert library.calls == [("blocktime", 0), ("blocktime", 200)]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="GNU's OpenMP is not here")
@pytest.mark.parametrize("first", ["torch", "penstock"])
def test_the_environment_is_as_it_was_whatever_is_imported_first(first: str) -> None:
    program = f"""
import os
before = dict(os.environ)
import {first}
import penstock
from penstock.devices import waiting
waiting.wait_asleep(True)
assert dict(os.environ) == before, set(os.environ.items()) ^ set(before.items())
import subprocess, sys
there = "import os; print(sorted(name for name in os.environ if name.startswith(('GOMP', 'OMP', 'KMP'))))"
found = subprocess.run([sys.executable, "-c", there], capture_output=True, text=True).stdout.strip()
said = sorted(name for name in before if name.startswith(("GOMP", "OMP", "KMP")))
print(found == str(said), waiting._crowd is not None)
"""
    assert in_a_process(program).split() == ["True", "True"]


WAITS = """
import time
import torch
from penstock.devices import openmp, waiting
library = openmp.library()
if not hasattr(library, "GOMP_parallel") or hasattr(library, "kmp_set_blocktime"):
    raise SystemExit
torch.set_num_threads(2)
x = torch.zeros(1 << 17)
def spent():
    "Seconds of processors while there is nothing to do but to wait."
    before = time.process_time()
    for _ in range(40):
        x.add_(1)
        time.sleep(0.01)
    return time.process_time() - before
spinning = spent()
waiting.wait_asleep(True)
while not waiting._crowd.is_there:
    time.sleep(0.01)
print(spinning, spent())
"""


@pytest.mark.skipif(processors.allowed() < 2, reason="threads never spin where there is one processor")
def test_threads_that_sleep_while_they_wait_leave_the_processor_to_others() -> None:
    """By processor time, which does not depend on who else runs."""
    found = in_a_process(WAITS).split()
    if not found:
        pytest.skip("GNU's OpenMP is not here")
    spinning, asleep = map(float, found)
    assert asleep < 0.5 * spinning
