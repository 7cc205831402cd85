"""One measured process: `python -m bench.worker FRAMEWORK WORKLOAD`, which prints one JSON line.

The order is that of a user's program: import the framework, build the program, first run, the first seconds, warm up,
time. The framework is imported before the workload, so its import time includes NumPy's. A framework that compiles in
the background is warm when that is done.
"""

from __future__ import annotations

import argparse
import importlib
import math
import platform
import statistics
import sys
import time
import traceback
from collections.abc import Callable
from types import ModuleType

from bench.frameworks import FRAMEWORKS, Framework, Step, import_framework
from bench.high_water import PeakMemory
from bench.machine import OtherWork
from bench.results import Failure, Result, Stage, to_json
from bench.workloads import load

CHECK_STEPS = 5
COLD_S = 2.0  # the first seconds
SETTLE_S = 120.0  # allowed for a compiler in the background
SETTLE_STEPS, SETTLE_ROUND_S = 5, 0.3  # of a round: a step is compiled after some calls and a fifth of a second
MIN_SAMPLES = 5
MIN_SAMPLE_S = 50e-6  # shorter steps are timed several at a time: reading the clock costs some 0.05 µs


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure one workload under one framework in this process.")
    parser.add_argument("framework", choices=FRAMEWORKS)
    parser.add_argument("workload")
    parser.add_argument("--seconds", type=float, default=2.0, help="time spent on timed steps")
    parser.add_argument("--warmup", type=float, default=1.0, help="time spent on steps before that")
    parser.add_argument("--cold", type=float, default=COLD_S, help="the first seconds of steps")
    args = parser.parse_args()

    outcome = attempt(FRAMEWORKS[args.framework], args.workload, args.seconds, args.warmup, args.cold)
    print(to_json(outcome), flush=True)
    if isinstance(outcome, Failure):
        print(outcome.details, file=sys.stderr)
        return 1
    return 0


def attempt(
    framework: Framework, workload_name: str, seconds: float, warmup: float, cold: float = 0.0
) -> Result | Failure:
    """The measurement, or the place and reason of its failure: a framework may be absent, or lack an op."""
    stage: Stage = "import"
    try:
        start = time.perf_counter()
        module = import_framework(framework)
        import_s = time.perf_counter() - start

        stage = "build"
        workload = load(workload_name)  # after the framework: programs import NumPy
        program = workload.program_for(framework)
        memory, others = PeakMemory(), OtherWork()
        start = time.perf_counter()
        step = program(module)
        build_s = time.perf_counter() - start

        stage = "run"
        start = time.perf_counter()
        step = framework.prepared(module, step)
        first = float(step())
        first_run_s = time.perf_counter() - start
        other_cores = others.cores()

        check = [first] + [float(step()) for _ in range(CHECK_STEPS - 1)]
        settle_s, cold_s = 0.0, None
        if workload.measures == "step":
            cold_s = mean_until(step, start, len(check), start + cold)
            if framework.settles:
                settle_s = settle(step, importlib.import_module("penstock.codegen.c.compiler").wait)
            others = OtherWork()
            samples, steps = time_steps(step, seconds, warmup)
            other_cores = others.cores()
        else:
            samples, steps = [{"build": build_s, "first_run": first_run_s}[workload.measures]], 1
    except Exception as error:  # whatever a framework raises becomes a note under the table
        return Failure(framework.name, workload_name, stage, one_line(error), traceback.format_exc())

    q1_s, median_s, q3_s = quartiles(samples)
    return Result(
        framework=framework.name,
        workload=workload_name,
        version=version_of(module),
        python=platform.python_version(),
        import_s=import_s,
        build_s=build_s,
        first_run_s=first_run_s,
        settle_s=settle_s,
        median_s=median_s,
        q1_s=q1_s,
        q3_s=q3_s,
        mean_s=statistics.mean(samples),
        cold_s=cold_s,
        steps=steps,
        peak_mib=memory.mib(),
        other_cores=other_cores,
        check=tuple(check),
    )


def mean_until(step: Step, start: float, steps: int, end: float) -> float:
    """The mean seconds of a step since `start`, when some steps have run; runs more of them until `end`."""
    clock = time.perf_counter
    while clock() < end:
        step()
        steps += 1
    return (clock() - start) / steps


def settle(step: Step, wait: Callable[[float], bool], limit: float = SETTLE_S) -> float:
    """Run steps until they request no more compilation. Returns the seconds until the last one was done.

    `wait(seconds)` waits for requested compilations, and returns whether all are done. Settling takes two rounds of
    steps with nothing to wait for: code that arrives during the first is used in the second, which may request more.
    """
    clock = time.perf_counter
    start = settled = clock()
    idle = 0
    while idle < 2 and clock() - start < limit:
        end, steps, asked = clock() + SETTLE_ROUND_S, 0, False
        while steps < SETTLE_STEPS or clock() < end:
            step()
            steps += 1
            asked = asked or not wait(0.0)  # code that arrives before the round ends counts as well
        if not asked:
            idle += 1
        else:
            idle = 0
            wait(max(0.0, start + limit - clock()))
            settled = clock()
    return settled - start


def time_steps(step: Step, seconds: float, warmup: float) -> tuple[list[float], int]:
    """Seconds per step, sampled for `seconds` after warming up for `warmup`; and the number of timed steps."""
    clock = time.perf_counter
    start, warm_steps = clock(), 0
    while warm_steps < MIN_SAMPLES or clock() - start < warmup:
        step()
        warm_steps += 1
    repeat = math.ceil(MIN_SAMPLE_S * warm_steps / (clock() - start))

    samples: list[float] = []
    deadline = clock() + seconds
    while len(samples) < MIN_SAMPLES or clock() < deadline:
        if repeat == 1:
            start = clock()
            step()
            samples.append(clock() - start)
        else:
            start = clock()
            for _ in range(repeat):
                step()
            samples.append((clock() - start) / repeat)
    return samples, len(samples) * repeat


def quartiles(samples: list[float]) -> tuple[float, float, float]:
    if len(samples) == 1:
        return samples[0], samples[0], samples[0]
    q1, median, q3 = statistics.quantiles(samples, n=4, method="inclusive")
    return q1, median, q3


def version_of(module: ModuleType) -> str:
    """Penstock's `__version__` is the version of TensorFlow whose programs it runs; its own is elsewhere."""
    own = getattr(getattr(module, "version", None), "PENSTOCK_VERSION", None)
    return str(own or getattr(module, "__version__", "unknown"))


def one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}"


if __name__ == "__main__":
    sys.exit(main())
