"""The table: workloads down; medians, ratios, first runs and memory across.

A ratio is TensorFlow's median over Penstock's of the same round, when the machine was in the same mood; the
table gives the median over the rounds and, in brackets, the worst and the best round.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.results import Failure, Result
from bench.workloads import Workload

CHECK_TOLERANCE = 1e-3  # relative
BUSY_CORES = 0.1  # used by other programs: more, and a measurement counts as disturbed
REFERENCE = "tensorflow"  # whose check values the others are compared with
OURS, THEIRS = "penstock", "tensorflow"
NONE = "-"

Round = Mapping[tuple[str, str], Result]  # by workload and framework


@dataclass
class Report:
    """All that was measured, and the text made of it."""

    workloads: Sequence[Workload]
    frameworks: Sequence[str]
    rounds: list[dict[tuple[str, str], Result]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    def text(self) -> str:
        return "\n".join([*self.table(), "", *self.notes()])

    def table(self) -> list[str]:
        """A Markdown table, padded so that it also reads well in a terminal."""
        header = ["workload", *self.frameworks, "TF/Penstock", "first run", "peak memory, MiB", "same values"]
        rows = [header, *(self._row(workload) for workload in self.workloads)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
        lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows]
        return [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]

    def _row(self, workload: Workload) -> list[str]:
        name = workload.name
        medians = [self._median(name, framework, lambda r: r.median_s) for framework in self.frameworks]
        firsts = [self._median(name, framework, lambda r: r.first_run_s) for framework in self.frameworks]
        peaks = [self._median(name, framework, lambda r: r.peak_rss_mb) for framework in self.frameworks]
        return [
            name,
            *map(format_time, medians),
            format_ratios(self.ratios(name)),
            " / ".join(map(format_time, firsts)),
            " / ".join(NONE if peak is None else f"{peak:.0f}" for peak in peaks),
            self._check(name),
        ]

    def ratios(self, workload: str) -> list[float]:
        """How many times Penstock's speed is TensorFlow's, in each round that has both."""
        pairs = [(r.get((workload, THEIRS)), r.get((workload, OURS))) for r in self.rounds]
        return [theirs.median_s / ours.median_s for theirs, ours in pairs if theirs and ours]

    def _results(self, workload: str, framework: str) -> list[Result]:
        return [r[workload, framework] for r in self.rounds if (workload, framework) in r]

    def _median(self, workload: str, framework: str, value: Callable[[Result], float]) -> float | None:
        values = [value(result) for result in self._results(workload, framework)]
        return statistics.median(values) if values else None

    def _check(self, workload: str) -> str:
        """Whether all frameworks returned the same numbers; if not, which differed and how much."""
        checks = {f: [r.check for r in self._results(workload, f)] for f in self.frameworks}
        measured = [framework for framework, values in checks.items() if values]
        if len(measured) < 2:
            return NONE
        reference = REFERENCE if REFERENCE in measured else measured[0]
        expected = checks[reference][0]
        differences = {f: max(relative_difference(c, expected) for c in checks[f]) for f in measured}
        wrong = [f"{f} by {d:.1e}" for f, d in differences.items() if not d <= CHECK_TOLERANCE]
        return "DIFFER: " + ", ".join(wrong) if wrong else "yes"

    def notes(self) -> list[str]:
        return [*self._goals(), *self._absences(), *self._disturbances(), *self._legend()]

    def _disturbances(self) -> Iterable[str]:
        results = [result for each in self.rounds for result in each.values()]
        others = [cores for r in results if (cores := r.other_cores or 0.0) > BUSY_CORES]
        if others:
            yield (
                f"- Shared machine: during {len(others)} of {len(results)} measurements other programs used "
                f"{min(others):.1f} to {max(others):.1f} cores. Repeat on an idle one."
            )

    def _goals(self) -> Iterable[str]:
        for workload in self.workloads:
            ratios = self.ratios(workload.name)
            if workload.min_ratio is None or not ratios:
                continue
            verdict = "met" if statistics.median(ratios) >= workload.min_ratio else "MISSED"
            goal = f"{workload.min_ratio:g} times {THEIRS}'s speed or more"
            yield f"- Goal for {workload.name}, {goal}: {verdict} ({format_ratios(ratios)})."

    def _absences(self) -> Iterable[str]:
        """One line per reason: a framework that cannot be imported fails everywhere for the same one."""
        reasons: dict[tuple[str, str, str], list[str]] = {}
        for failure in self.failures:
            key = (failure.framework, failure.stage, failure.message)
            workloads = reasons.setdefault(key, [])
            if failure.workload not in workloads:
                workloads.append(failure.workload)
        for (framework, stage, message), workloads in reasons.items():
            where = "all" if stage == "import" else ", ".join(workloads)
            yield f"- {framework}, {where}: failed at {stage}: {message}"

    def _legend(self) -> Iterable[str]:
        yield f"- First run and peak memory: {' / '.join(self.frameworks)}."
        for workload in self.workloads:
            yield f"- `{workload.name}`: {workload.about}."

    def versions(self) -> str:
        """Each measured framework's version, and its interpreter's."""
        versions = {
            framework: f"{framework} {result.version} (Python {result.python})"
            for one_round in self.rounds
            for (_, framework), result in one_round.items()
        }
        return ", ".join(versions[framework] for framework in self.frameworks if framework in versions)


def relative_difference(values: Sequence[float], expected: Sequence[float]) -> float:
    """The largest |value - expected| / |expected|; NaN never counts as equal."""
    if len(values) != len(expected):
        return math.inf
    worst = 0.0
    for value, want in zip(values, expected, strict=True):
        difference = abs(value - want) / max(abs(want), 1e-30)
        worst = max(worst, math.inf if math.isnan(difference) else difference)
    return worst


def format_time(seconds: float | None) -> str:
    """Three significant digits with a unit: 1.30 µs, 325 µs, 8.24 ms."""
    if seconds is None:
        return NONE
    for factor, unit in ((1e6, "µs"), (1e3, "ms"), (1.0, "s")):
        scaled = seconds * factor
        if scaled < 999.5 or unit == "s":
            break
    return f"{three_digits(scaled)} {unit}"


def format_ratios(ratios: Sequence[float]) -> str:
    """Median, worst and best: 4.41x [3.08..5.02]."""
    if not ratios:
        return NONE
    median, worst, best = map(three_digits, (statistics.median(ratios), min(ratios), max(ratios)))
    return f"{median}x [{worst}..{best}]"


def three_digits(value: float) -> str:
    """0.95, 4.41, 12.3, 174: at most three digits, no exponent."""
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"
