"""The long chaos test: `make chaos ARGS="--faults 300"`, or `--seed N` for the faults that a seed stands for.

`--program` chooses what trains: "graph", one client with a graph over all tasks; "ray", the same on actors of Ray;
"nodes", on a Ray of several nodes, which are killed, too, in the end with Ray's head; "async" and "sync", programs that
are started once for each task. With `--outcomes FILE`, what is in there already is reported, too.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import secrets
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.chaos.between_run import CASTS, running_between
from tests.cluster.chaos.chances import KINDS, Cast, draw
from tests.cluster.chaos.harness import running
from tests.cluster.chaos.stage import Broken, Outcome, Stage

STEPS = 3000
ROUND = 20
"""Faults of one seed."""
PROGRAMS = ("graph", "ray", "nodes", "async", "sync")
_OF_RAY = Cast(kinds=(*KINDS, "node", "node"))


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


def suffer(
    folder: Path,
    seed: int,
    expected: dict[int, str],
    outcomes: list[Outcome],
    faults: int = ROUND,
    on: str = "processes",
) -> None:
    """Faults of a seed, one after another, while one client trains."""
    with running(folder, len(expected), expected, on) as run:
        _draw_all(run, seed, outcomes, faults, _OF_RAY if on == "nodes" else None)


def suffer_between(folder: Path, mode: str, seed: int, outcomes: list[Outcome], faults: int = ROUND) -> None:
    """The same of a program that is started for each task."""
    with running_between(folder, mode) as run:
        _draw_all(run, seed, outcomes, faults, CASTS[mode])


def _draw_all(run: Stage, seed: int, outcomes: list[Outcome], faults: int, cast: Cast | None = None) -> None:
    dice = random.Random(seed)
    for number in range(faults):
        if run.ended:
            break
        chance = draw(dice, number, cast)
        print(f"seed {seed}, fault {number}: {chance}", flush=True)
        outcome = run.suffer(chance)
        outcomes.append(outcome)
        if outcome.recovery_s is None:
            print("    did not come", flush=True)
        else:
            print(f"    good after {outcome.recovery_s:.2f} s", flush=True)


@dataclass(frozen=True)
class Record:
    """An outcome, as it is kept in files."""

    program: str
    moment: str
    do: str
    faults: int
    recovery_s: float | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", choices=PROGRAMS, default="graph")
    parser.add_argument("--faults", type=int, default=300, help="how many, at least")
    parser.add_argument("--seed", type=int, help="only this one's")
    parser.add_argument("--steps", type=int, default=STEPS, help="of the program; more time for faults")
    parser.add_argument("--expected", type=Path, help="where the variables of the run without faults are kept")
    parser.add_argument("--outcomes", type=Path, help="where the outcomes of all runs are kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        one = _one(given.program, Path(name), given.steps, given.expected)
        outcomes: list[Outcome] = []
        broken = 0
        while sum(outcome.faults for outcome in outcomes) < given.faults:
            seed = secrets.randbits(32) if given.seed is None else given.seed
            try:
                one(seed, outcomes)
            except Broken as error:
                print(f"BROKEN with --program {given.program} --seed {seed}: {error}", flush=True)
                broken += 1
            if given.seed is not None:
                break
    records = [Record(given.program, o.chance.moment, o.chance.order.do, o.faults, o.recovery_s) for o in outcomes]
    report(_with_kept(records, given.outcomes))
    print(f"{broken} seeds broken")
    raise SystemExit(broken > 0)


def _one(program: str, folder: Path, steps: int, kept: Path | None) -> Callable[[int, list[Outcome]], None]:
    """What does one seed."""
    if program in CASTS:
        return lambda seed, outcomes: suffer_between(folder / f"{seed}", program, seed, outcomes)
    expected = _kept(kept) or reference(folder / "whole", steps)
    if kept is not None:
        kept.write_text(json.dumps(expected))
    print(f"{len(expected)} steps without a fault", flush=True)
    on = "processes" if program == "graph" else program
    return lambda seed, outcomes: suffer(folder / f"{seed}", seed, expected, outcomes, on=on)


def _with_kept(records: list[Record], file: Path | None) -> list[Record]:
    if file is None:
        return records
    with file.open("a") as kept:
        kept.writelines(json.dumps(vars(record)) + "\n" for record in records)
    return [Record(**json.loads(line)) for line in file.read_text().splitlines()]


def report(records: list[Record]) -> None:
    """The seconds from a fault to the next good step."""
    came = [record for record in records if record.recovery_s is not None]
    for what in ("moment", "do"):
        counts = Counter(getattr(record, what) for record in came)
        print("  " + ", ".join(f"{name} {count}" for name, count in counts.most_common()))
    print("| | faults | median | p90 | p99 | longest |\n|---|---:|---:|---:|---:|---:|")
    for program in PROGRAMS:
        times = sorted(record.recovery_s for record in came if record.program == program and record.recovery_s)
        faults = sum(record.faults for record in records if record.program == program)
        if times:
            cells = [statistics.median(times), _quantile(times, 0.9), _quantile(times, 0.99), times[-1]]
            print(f"| {program} | {faults} | " + " | ".join(f"{cell:.2f} s" for cell in cells) + " |")


def _quantile(times: list[float], share: float) -> float:
    return times[min(len(times) - 1, math.ceil(share * len(times)) - 1)]


if __name__ == "__main__":
    main()
