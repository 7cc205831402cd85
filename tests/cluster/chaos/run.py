"""The long chaos test: `make chaos ARGS="--faults 300"`, or `--seed N` for the faults that a seed stands for."""

from __future__ import annotations

import argparse
import json
import random
import secrets
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.cluster.chaos.chances import draw
from tests.cluster.chaos.harness import Broken, Outcome, running

STEPS = 3000
ROUND = 20
"""Faults of one seed."""


def reference(folder: Path, steps: int) -> dict[int, str]:
    """The variables after each step of training without faults."""
    with running(folder, steps) as run:
        while not run.ended:
            run.wait_for_step(time.monotonic())
    return run.steps_seen


def _kept(file: Path | None) -> dict[int, str]:
    if file is None or not file.exists():
        return {}
    return {int(step): digest for step, digest in json.loads(file.read_text()).items()}


def suffer(folder: Path, seed: int, expected: dict[int, str], outcomes: list[Outcome], faults: int = ROUND) -> None:
    """Faults of a seed, one after another."""
    dice = random.Random(seed)
    with running(folder, len(expected), expected) as run:
        for number in range(faults):
            if run.ended:
                break
            chance = draw(dice, number)
            print(f"seed {seed}, fault {number}: {chance}", flush=True)
            outcome = run.suffer(chance)
            outcomes.append(outcome)
            if outcome.recovery_s is None:
                print("    did not come", flush=True)
            else:
                print(f"    good after {outcome.recovery_s:.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=300, help="how many, at least")
    parser.add_argument("--seed", type=int, help="only this one's")
    parser.add_argument("--steps", type=int, default=STEPS, help="of the program; more time for faults")
    parser.add_argument("--expected", type=Path, help="where the variables of the run without faults are kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        expected = _kept(given.expected) or reference(Path(name) / "whole", given.steps)
        if given.expected is not None:
            given.expected.write_text(json.dumps(expected))
        print(f"{len(expected)} steps without a fault", flush=True)
        outcomes: list[Outcome] = []
        broken = 0
        while sum(outcome.faults for outcome in outcomes) < given.faults:
            seed = secrets.randbits(32) if given.seed is None else given.seed
            try:
                suffer(Path(name) / f"{seed}", seed, expected, outcomes)
            except Broken as error:
                print(f"BROKEN with --seed {seed}: {error}", flush=True)
                broken += 1
            if given.seed is not None:
                break
        report(outcomes, broken)
    raise SystemExit(broken > 0)


def report(outcomes: list[Outcome], broken: int) -> None:
    times = sorted(outcome.recovery_s for outcome in outcomes if outcome.recovery_s is not None)
    faults = sum(outcome.faults for outcome in outcomes)
    print(f"{faults} faults, {broken} seeds broken")
    for what in ("moment", "do"):
        counts = Counter(
            outcome.chance.moment if what == "moment" else outcome.chance.order.do
            for outcome in outcomes
            if outcome.recovery_s is not None
        )
        print("  " + ", ".join(f"{name} {count}" for name, count in counts.most_common()))
    if times:
        p99 = times[min(len(times) - 1, round(0.99 * len(times)))]
        print(f"  from fault to next good step: median {statistics.median(times):.2f} s, p99 {p99:.2f} s")


if __name__ == "__main__":
    main()
