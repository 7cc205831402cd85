"""Formatting of numbers for the tables."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

NONE = "-"


def format_time(seconds: float) -> str:
    """Three significant digits with a unit: 1.30 µs, 325 µs, 8.24 ms."""
    for factor, unit in ((1e6, "µs"), (1e3, "ms"), (1.0, "s")):
        scaled = seconds * factor
        if scaled < 999.5 or unit == "s":
            break
    return f"{three_digits(scaled)} {unit}"


def format_ratios(ratios: Sequence[float]) -> str:
    """Median, worst and best: 4.41x [3.08..5.02]; a single one stands alone."""
    if not ratios:
        return NONE
    median, worst, best = map(three_digits, (statistics.median(ratios), min(ratios), max(ratios)))
    return f"{median}x [{worst}..{best}]" if len(ratios) > 1 else f"{median}x"


def three_digits(value: float) -> str:
    """0.95, 4.41, 12.3, 174: at most three digits, no exponent."""
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"
