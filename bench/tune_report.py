"""The tables of bench/TUNE.md, from the courses of searches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from bench.tune_objectives import GRID, OBJECTIVES, Objective
from bench.tune_searches import EI, PER_SECOND, Course


class Group(NamedTuple):
    """Courses that differ in their seeds only."""

    objective: str
    search: str
    workers: int


Results = dict[Group, dict[int, Course]]
"""By seed."""


def quartiles(values: Iterable[float], form: Callable[[float], str]) -> str:
    """Median and quartiles; of whole numbers none is between two observed ones, so that infinite ones count too."""
    low, middle, high = np.quantile(list(values), [0.25, 0.5, 0.75], method="inverted_cdf")
    return f"{form(middle)} [{form(low)}..{form(high)}]"


def losses_table(objective: Objective, results: Results, trials: int, grid: Sequence[float] | None) -> str:
    """The best losses of each search after some of the trials and all, and how many it took to the target."""
    optimum = objective.optimum
    what = "best loss" if optimum is None else "best loss above the minimum"

    def form(value: float) -> str:
        return f"{value:.4f}" if optimum is None else f"{value - optimum:.2g}"

    def count(value: float) -> str:
        return f"{value:.0f}" if np.isfinite(value) else f"over {trials}"

    marks = [trials * 2 // 5, trials * 3 // 5, trials]
    heads = [
        f"{what} after {marks[0]}",
        *(f"after {n}" for n in marks[1:]),
        f"trials to {objective.target:.4g}",
        "seeds",
    ]
    rows = {group.search: list(courses.values()) for group, courses in results.items() if group.workers == 1}
    if grid:
        seeds = max(map(len, rows.values()))
        rows[f"Grid of {len(grid):,}, in random order"] = [
            Course([grid[i] for i in np.random.default_rng(seed).permutation(len(grid))[:trials]])
            for seed in range(seeds)
        ]
    lines = [
        [
            name,
            *(quartiles((course.best()[n - 1] for course in courses), form) for n in marks),
            quartiles((course.trials_to(objective.target) for course in courses), count),
            str(len(courses)),
        ]
        for name, courses in rows.items()
    ]
    if grid:
        reached = f"{sum(loss <= objective.target for loss in grid)} of them reach the target"
        lines.append([f"Grid of {' × '.join(map(str, GRID))}, the whole", "", "", form(min(grid)), reached, ""])
    return table(["search", *heads], lines)


def costs_table(results: Results, trials: int) -> str:
    """What EI and EI per second spend until they reach the target, and how far both are when the latter has."""
    lines = []
    for objective in OBJECTIVES.values():
        pair = [results.get(Group(objective.name, search, 1), {}) for search in (EI, PER_SECOND)]
        seeds = sorted(pair[0].keys() & pair[1].keys())
        if not seeds:
            continue
        budget = float(np.median([pair[1][seed].cost_to(objective.target) for seed in seeds]))
        for name, courses in zip((EI, PER_SECOND), pair, strict=True):
            chosen = [courses[seed] for seed in seeds]
            lines.append(
                [
                    objective.name,
                    name,
                    quartiles((course.cost_to(objective.target) for course in chosen), _cost),
                    quartiles((course.best_at_cost(budget) for course in chosen), "{:.4f}".format)
                    + f" at {_cost(budget)}",
                    quartiles((sum(course.costs) for course in chosen), _cost),
                ]
            )
    heads = ["objective", "search", "cost until the target", "best loss at one cost", f"cost of {trials} trials"]
    return table(heads, lines)


def workers_table(results: Results, workers: int) -> str:
    """Trials to the target, one at a time and several; pairs of the same seeds."""
    lines = []
    for group, courses in results.items():
        alone = results.get(group._replace(workers=1), {})
        if group.workers != workers or not (seeds := sorted(courses.keys() & alone.keys())):
            continue
        target = OBJECTIVES[group.objective].target
        counts = [[each[seed].trials_to(target) for seed in seeds] for each in (alone, courses)]
        medians = [float(np.median(each)) for each in counts]
        lines.append(
            [
                group.objective,
                group.search,
                *(quartiles(each, "{:.0f}".format) for each in counts),
                f"{medians[1] / medians[0] - 1:+.0%}" if np.isfinite(medians).all() else "",
                str(len(seeds)),
            ]
        )
    heads = ["objective", "search", "trials to the target, one at a time", f"{workers} at a time", "more", "seeds"]
    return table(heads, lines)


def _cost(value: float) -> str:
    return f"{value:.0f}" if np.isfinite(value) else "more"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
