"""How the measuring processes are chosen, started and ended."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
import torch

from bench.memory import PeakMemory
from bench.results import Failure, Result
from bench.run import FULL, interpreters, parse_args, run_group, run_worker

BUSY = """\
import subprocess, sys, time
sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
child = subprocess.Popen(sleeper, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(child.pid, flush=True)
{then}
"""


def test_a_quick_run_is_short_and_leaves_out_what_compiles_for_long() -> None:
    quick, full = parse_args(["--quick"]), parse_args([])
    assert (quick.rounds, quick.seconds) == (1, 0.3)
    assert set(full.frameworks) - set(quick.frameworks) == {"torch-compile"}
    assert full.rounds == FULL["rounds"]


def test_options_that_are_given_hold_in_a_quick_run_too() -> None:
    args = parse_args(["--quick", "--rounds", "2", "--frameworks", "penstock,jax"])
    assert (args.rounds, args.seconds, args.frameworks) == (2, 0.3, ["penstock", "jax"])


def test_columns_of_one_package_share_its_interpreter() -> None:
    paths = interpreters(["torch=/a/python"], {"BENCH_PYTHON_JAX": "/b/python"})
    assert paths == {"penstock": sys.executable, "tensorflow": sys.executable, "torch": "/a/python", "jax": "/b/python"}
    with pytest.raises(ValueError, match="not PACKAGE=PATH"):
        interpreters(["torch-compile=/a/python"], {})


def test_a_worker_measures_a_workload() -> None:
    outcome = run_worker("penstock", "empty_step", parse_args(["--seconds", "0.01", "--warmup", "0.01"]))
    assert isinstance(outcome, Result)
    assert outcome.check == (1.0, 2.0, 3.0, 4.0, 5.0)
    assert 0 < outcome.median_s <= outcome.first_run_s
    assert 0 <= outcome.peak_mib < 200


def test_a_worker_that_takes_too_long_is_a_timeout() -> None:
    outcome = run_worker("penstock", "empty_step", parse_args(["--timeout", "0.1"]))
    assert isinstance(outcome, Failure)
    assert (outcome.stage, outcome.message) == ("timeout", "no result within 0.1 s")


@pytest.mark.parametrize("then", ["", "time.sleep(60)"])
def test_what_a_process_has_started_ends_with_it(then: str) -> None:
    start = time.monotonic()
    try:
        _, output, _ = run_group([sys.executable, "-c", BUSY.format(then=then)], dict(os.environ), timeout=1.0)
    except subprocess.TimeoutExpired as error:
        output = (error.output or b"").decode()
    assert time.monotonic() - start < 30
    assert not alive(int(output))


def alive(pid: int) -> bool:
    """Whether the process runs, up to five seconds from now; one that nobody waits for counts as ended."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] == "Z":
                    return False
        except FileNotFoundError:
            return False
        time.sleep(0.01)
    return True


def test_peak_memory_counts_what_has_been_freed_since() -> None:
    memory = PeakMemory()
    torch.ones(2**25)  # 128 MiB, freed at once
    assert 127 < memory.mib() < 160
