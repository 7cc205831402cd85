"""The tables: workloads down; medians and ratios across, and under them first runs and memory.

A ratio is another framework's median over Penstock's of the same round, when the machine was in the same state; the
table shows the median over the rounds and, in brackets, the worst and the best round.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.formats import NONE, format_ratios, format_time, three_digits
from bench.results import Failure, Result, relative_difference
from bench.workloads import Workload

CHECK_TOLERANCE = 1e-3  # relative
BUSY_CORES = 0.1  # used by other programs: above this, a measurement counts as disturbed
REFERENCE = "tensorflow"  # the one whose check values the others are compared with
OURS = ("penstock", "penstock-c")

Round = Mapping[tuple[str, str], Result]  # by workload and framework


@dataclass(frozen=True)
class Comparison:
    """A comparison of one of our columns with others': a column of ratios."""

    ours: str
    peers: Sequence[str]
    title: str
    field: str = "median_s"

    def ratios(self, rounds: Iterable[Round], workload: str) -> list[float]:
        """Our speed divided by that of the fastest peer, in each round that has both."""
        found = []
        for each in rounds:
            ours, *peers = (self._seconds(each.get((workload, name))) for name in (self.ours, *self.peers))
            measured = [seconds for seconds in peers if seconds]
            if ours and measured:
                found.append(min(measured) / ours)
        return found

    def _seconds(self, result: Result | None) -> float | None:
        seconds: float | None = getattr(result, self.field, None)
        return seconds


@dataclass
class Report:
    """All measurements, and the report's text."""

    workloads: Sequence[Workload]
    frameworks: Sequence[str]
    rounds: list[dict[tuple[str, str], Result]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    neighbours: int = 0
    """That were kept busy meanwhile."""

    def text(self) -> str:
        """Warm and cold; and where there are no neighbours, first runs, memory and all notes."""
        if self.neighbours:  # they affect only some steps: a median would hide their cost
            warm = [*self.times("mean", "mean_s"), "", *self._means("mean_s")]
        else:
            warm = [*self.times(), "", *self._means()]
        if any(result.cold_s for each in self.rounds for result in each.values()):
            warm += ["", *self.times("cold", "cold_s"), "", *self._means("cold_s")]
        if self.neighbours:
            return "\n".join([*warm, *self._absences(), *self._disturbances()])
        return "\n".join([*warm, "", *self.starts(), "", *self.notes()])

    def times(self, title: str = "median", field: str = "median_s") -> list[str]:
        """The table of one kind of times, and of ratios."""
        comparisons = self.comparisons(field)
        rows = [[title, *self.frameworks, *(comparison.title for comparison in comparisons)]]
        for name in self._names():
            cells = [self._cell(name, f, lambda r: format_time(r(field)), field) for f in self.frameworks]
            if any(cell != NONE for cell in cells):
                rows.append([name, *cells, *(format_ratios(c.ratios(self.rounds, name)) for c in comparisons)])
        return markdown(rows)

    def starts(self) -> list[str]:
        """The table of first runs and memory."""
        rows = [["first run, peak memory", *self.frameworks, "same values"]]
        for name in self._names():
            cells = [
                self._cell(name, f, lambda r: f"{first_run(r('first_run_s'), r('settle_s'))}, {r('peak_mib'):.0f} MiB")
                for f in self.frameworks
            ]
            rows.append([name, *cells, self._check(name)])
        return markdown(rows)

    def comparisons(self, field: str = "median_s") -> list[Comparison]:
        """Each of our columns beside TensorFlow's, and beside the best of all peers in each round."""
        peers = [framework for framework in self.frameworks if framework not in OURS]
        pairs = [([REFERENCE], REFERENCE)] if REFERENCE in peers else []
        if len(peers) > 1:
            pairs.append((peers, "best peer"))
        ours = [framework for framework in OURS if framework in self.frameworks]
        return [Comparison(mine, theirs, f"{title}/{mine}", field) for mine in ours for theirs, title in pairs]

    def _names(self) -> list[str]:
        return [workload.name for workload in self.workloads]

    def _results(self, workload: str, framework: str) -> list[Result]:
        return [r[workload, framework] for r in self.rounds if (workload, framework) in r]

    def _cell(
        self, workload: str, framework: str, text: Callable[[Callable[[str], float]], str], needs: str = "median_s"
    ) -> str:
        """`text` of the medians over the rounds; without any result, the reason."""
        results = [r for r in self._results(workload, framework) if getattr(r, needs) is not None]
        if results:
            return text(lambda name: statistics.median(getattr(result, name) for result in results))
        stages = [f.stage for f in self.failures if f.framework == framework and f.workload == workload]
        return NONE if not stages else "timeout" if "timeout" in stages else "failed"

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

    def _means(self, field: str = "median_s") -> Iterable[str]:
        """A line for each comparison: the geometric mean over the workloads, and how many are won."""
        for comparison in self.comparisons(field):
            ratios = [comparison.ratios(self.rounds, name) for name in self._names()]
            medians = [statistics.median(each) for each in ratios if each]
            if medians:
                mean, won = three_digits(statistics.geometric_mean(medians)), sum(ratio >= 1 for ratio in medians)
                yield f"- {comparison.title}: geometric mean {mean}x; 1x or more in {won} of {len(medians)} workloads."

    def notes(self) -> list[str]:
        return [*self._goals(), *self._absences(), *self._disturbances(), *self._legend()]

    def _disturbances(self) -> Iterable[str]:
        results = [result for each in self.rounds for result in each.values()]
        others = [cores for r in results if (cores := (r.other_cores or 0.0) - self.neighbours) > BUSY_CORES]
        if others:
            yield (
                f"- Shared machine: during {len(others)} of {len(results)} measurements other programs used "
                f"{min(others):.1f} to {max(others):.1f} cores. Repeat on an idle one."
            )

    def _goals(self) -> Iterable[str]:
        for workload in self.workloads:
            ratios = Comparison(OURS[0], [REFERENCE], "").ratios(self.rounds, workload.name)
            if workload.min_ratio is None or not ratios:
                continue
            verdict = "met" if statistics.median(ratios) >= workload.min_ratio else "MISSED"
            goal = f"{workload.min_ratio:g} times {REFERENCE}'s speed or more"
            yield f"- Goal for {workload.name}, {goal}: {verdict} ({format_ratios(ratios)})."

    def _absences(self) -> Iterable[str]:
        """One line per reason: a framework that cannot be imported is absent everywhere for the same one."""
        reasons: dict[tuple[str, str, str], list[str]] = {}
        for failure in self.failures:
            key = (failure.framework, failure.stage, failure.message)
            workloads = reasons.setdefault(key, [])
            if failure.workload not in workloads:
                workloads.append(failure.workload)
        for (framework, stage, message), workloads in reasons.items():
            where = "all" if stage == "import" else ", ".join(workloads)
            yield f"- {framework}, {where}: {stage}: {message}"

    def _legend(self) -> Iterable[str]:
        yield (
            "- First run: the first step's seconds, whatever is compiled for it included; after a + the seconds of"
            " further steps until what is compiled in the background was there, which medians leave out. Peak memory:"
            " the resident set of the process at most, above what it is when the framework has been imported. Cold:"
            " a step's time on average over the first seconds, from the first step on; mean: of the warm steps."
        )
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


def first_run(seconds: float, settle: float) -> str:
    return format_time(seconds) + (f" + {format_time(settle)}" if settle else "")


def markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table, padded so that it also reads well in a terminal; the first row is its header."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    header, *lines = ("| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows)
    return [header, "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines]
