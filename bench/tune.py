"""Searches for hyperparameters compared: `python -m bench.tune --botorch PYTHON --out bench/TUNE.md`.

Each search has the same number of trials on the same objectives (`bench/tune_objectives.py`), once for each seed, and
all are Optuna samplers. PYTHON is one that has BoTorch; without it BoTorch is left out. Every course of a search is
added to the file `--results` when it ends, and a later run takes it from there, so a run that was stopped goes on where
it was.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import json
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

import optuna

from bench.machine import describe_machine
from bench.progress import Progress
from bench.tune_objectives import OBJECTIVES, digits_grid
from bench.tune_report import Group, Results, costs_table, losses_table, table, workers_table
from bench.tune_searches import EI, PER_SECOND, Course, search, searches, suggestion_seconds

WORKERS = 4
IN_PARALLEL = (EI, "Optuna GPSampler", "BoTorch qLogEI", "Random")
DIGITS = "Logistic regression"
COSTLY = ("Branin-Hoo", DIGITS)
SPEED_TRIALS = 200

TITLE = """\
# Searches for hyperparameters

`python -m bench.tune`: searches compared by what they find in {trials} trials. Figures are medians over the seeds
0, 1, … [quartiles]. "GP EI MCMC" is `penstock.tune.GPEIMCMC`; further rows of GP change one of its arguments. All other
samplers have their defaults; BoTorch is a SingleTaskGP with log EI after ten random trials, as Optuna's samplers start.

- Machine: {machine}
- Versions: {versions}"""
ABOUT = {
    "Branin-Hoo": "Two dimensions, three equal minima.",
    "Hartmann 6": "Six dimensions, one global minimum and several others.",
    DIGITS: """\
Validation loss of logistic regression on 8 x 8 scans of digits (500 to train on, 1,297 to validate), trained by a
program of Penstock with the paper's four hyperparameters: learning rate (0.0001 to 1, log scale), weight of the L2 norm
(0 to 1), size of minibatches (20 to 500), epochs (5 to 100). The same whenever the hyperparameters are.""",
}
ABOUT_COSTS = """\
Trials that cost different amounts, which are counted, not measured: on Branin-Hoo 30 times as much on the right as on
the left, for the digits what training computes. EI per second models the cost with a second Gaussian process."""
ABOUT_WORKERS = """\
On a simulated clock on which trials take between half a second and one and a half: when one ends, the next starts, and
knows of those that still run only where they are."""
ABOUT_SPEED = """\
Seconds for a suggestion with {trials} observations of six dimensions (Hartmann 6, random points), ten samples of the
hyperparameters for GPEIMCMC."""


def main() -> None:
    args = parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    samplers = searches(args.botorch)
    chosen = [name for name in samplers if not args.only or name in args.only]
    kept = Kept(args.results)
    start = time.monotonic()

    def late() -> bool:
        return time.monotonic() - start > 60 * args.minutes

    wanted = [
        (Group(objective, name, workers), seed)
        for seed in range(args.seeds)
        for workers in args.workers
        for objective in args.objectives
        for name in chosen
        if is_compared(objective, name, workers)
    ]
    missing = [(group, seed) for group, seed in wanted if seed not in kept.courses.get(group, {})]
    progress = Progress([group for group, _ in missing])
    for group, seed in missing:
        if late():
            break
        progress.begin(f"{group.objective}, {group.search}, {group.workers} at a time, seed {seed}")
        course = search(OBJECTIVES[group.objective], samplers[group.search](seed), args.trials, group.workers, seed)
        kept.add({**group._asdict(), "seed": seed, **dataclasses.asdict(course)})
        progress.end(group)
    progress.close()
    if DIGITS in args.objectives and not kept.grid and not late():
        kept.add({"grid": digits_grid()})
    known = OBJECTIVES["Hartmann 6"]
    for name in chosen if args.speed else []:
        kept.add({"speed": name, "seconds": suggestion_seconds(known, samplers[name](0), SPEED_TRIALS)})
    text = report(kept, args)
    print(text)
    if args.out:
        args.out.write_text(text)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="seeds 0, 1, …")
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--objectives", nargs="*", default=list(OBJECTIVES), choices=list(OBJECTIVES))
    parser.add_argument("--only", nargs="*", metavar="SEARCH", help="as it is named in the tables")
    parser.add_argument("--workers", nargs="*", type=int, default=[1, WORKERS], help="trials at a time")
    parser.add_argument("--speed", action="store_true", help="time suggestions, too")
    parser.add_argument("--botorch", metavar="PYTHON")
    parser.add_argument("--results", type=Path, default=Path("tune.jsonl"))
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no search after so many")
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def is_compared(objective: str, search: str, workers: int) -> bool:
    """Costs differ in two objectives; several trials at a time are of interest to a few searches."""
    if workers > 1:
        return search in IN_PARALLEL and objective != DIGITS
    return search != PER_SECOND or objective in COSTLY


class Kept:
    """The file of results: a line of JSON for each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.courses: Results = {}
        self.grid: list[float] = []
        self.seconds: dict[str, list[float]] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                self._take(json.loads(line))

    def add(self, result: dict[str, Any]) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps(result) + "\n")
        self._take(result)

    def _take(self, result: dict[str, Any]) -> None:
        if "grid" in result:
            self.grid = result["grid"]
        elif "speed" in result:
            self.seconds[result["speed"]] = result["seconds"]
        else:
            group = Group(*(result[name] for name in Group._fields))
            course = Course(**{field.name: result[field.name] for field in dataclasses.fields(Course)})
            self.courses.setdefault(group, {})[result["seed"]] = course


def report(kept: Kept, args: argparse.Namespace) -> str:
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("optuna", "torch"))
    if args.botorch:
        asked = [args.botorch, "-c", "import importlib.metadata as m; print(m.version('botorch'))"]
        versions += ", botorch " + subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    parts = [TITLE.format(trials=args.trials, machine=describe_machine(), versions=versions)]
    for name, text in ABOUT.items():
        results = {group: courses for group, courses in kept.courses.items() if group.objective == name}
        if results:
            grid = kept.grid if name == DIGITS else []
            parts += [f"## {name}", text, losses_table(OBJECTIVES[name], results, args.trials, grid)]
    parts += ["## What trials cost", ABOUT_COSTS, costs_table(kept.courses, args.trials)]
    parts += ["## Several trials at a time", ABOUT_WORKERS, workers_table(kept.courses, WORKERS)]
    if kept.seconds:
        parts += ["## Suggestions", ABOUT_SPEED.format(trials=SPEED_TRIALS), speed_table(kept.seconds)]
    return "\n\n".join(parts) + "\n"


def speed_table(seconds: dict[str, list[float]]) -> str:
    rows = [[name, f"{first:.3f} s", f"{statistics.median(rest):.3f} s"] for name, (first, *rest) in seconds.items()]
    return table(["search", "the first in a process", "later ones, median"], rows)


if __name__ == "__main__":
    main()
