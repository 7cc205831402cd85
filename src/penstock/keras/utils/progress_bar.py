"""`Progbar`: the lines that `fit` prints (TF: tf.keras.utils.Progbar)."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from penstock.export import export


@export("keras.utils.Progbar")
class Progbar:
    """A bar on terminals, drawn anew over itself; in files and pipes only the finished line of each epoch.

    verbose: 0 nothing, 1 a bar, 2 a line at the end. Values are shown as means over the steps, except those named in
    `stateful_metrics`, which are shown as they are.
    """

    def __init__(
        self,
        target: int | None,
        width: int = 30,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Any = None,
        unit_name: str = "step",
    ) -> None:
        self.target, self.width, self.verbose, self.interval = target, width, verbose, interval
        self.stateful_metrics = set(stateful_metrics or ())
        self.unit_name = unit_name
        self._sums: dict[str, tuple[Any, int]] = {}
        self._seen, self._drawn = 0, 0
        self._start = self._last = time.monotonic()
        self._live = bool(getattr(sys.stdout, "isatty", lambda: False)())

    def update(self, current: int, values: Any = None) -> None:
        """`current` of `target` are done; `values`: pairs of names and numbers of the steps since the last update."""
        steps = current - self._seen
        for name, value in values or []:
            if name in self.stateful_metrics:
                self._sums[name] = (value, 1)
            else:
                total, count = self._sums.get(name, (0.0, 0))
                self._sums[name] = (total + value * steps, count + steps)
        self._seen = current
        now = time.monotonic()
        ended = self.target is not None and current >= self.target
        if self.verbose == 1 and (ended or (self._live and now - self._last >= self.interval)):
            self._show(self._bar(current) + self._rate(current, now, ended) + self._values(), ended)
            self._last = now
        elif self.verbose == 2 and ended:
            self._show(self._count() + f" - {now - self._start:.0f}s" + self._values(), ended)

    def add(self, n: int, values: Any = None) -> None:
        """`n` more are done."""
        self.update(self._seen + n, values)

    def _show(self, line: str, ended: bool) -> None:
        start = "\r" if self._live and self.verbose == 1 else ""
        sys.stdout.write(start + line.ljust(self._drawn if start else 0) + ("\n" if ended else ""))
        sys.stdout.flush()
        self._drawn = len(line)

    def _count(self) -> str:
        return f"{self.target}/{self.target}"

    def _bar(self, current: int) -> str:
        if self.target is None:
            return f"{current:7d}/Unknown"
        digits = len(str(self.target))
        done = int(self.width * current / self.target) if self.target else self.width
        arrow = "=" * done if done >= self.width else "=" * max(done - 1, 0) + ">" * (done > 0)
        return f"{current:{digits}d}/{self.target} [{arrow.ljust(self.width, '.')}]"

    def _rate(self, current: int, now: float, ended: bool) -> str:
        seconds = now - self._start
        each = seconds / current if current else 0.0
        if self.target is not None and not ended:
            left = int(each * (self.target - current))
            if left >= 3600:
                return f" - ETA: {left // 3600}:{left % 3600 // 60:02d}:{left % 60:02d}"
            return f" - ETA: {left // 60}:{left % 60:02d}" if left >= 60 else f" - ETA: {left}s"
        step = f"{each:.0f}s" if each >= 1 else f"{each * 1e3:.0f}ms" if each >= 1e-3 else f"{each * 1e6:.0f}us"
        return f" - {seconds:.0f}s {step}/{self.unit_name}"

    def _values(self) -> str:
        text = ""
        for name, (total, count) in self._sums.items():
            value = float(np.mean(total / max(count, 1)))
            size = value if self.verbose == 2 else abs(value)  # a line at the end has negative numbers with exponents
            text += f" - {name}: {value:.4f}" if size > 1e-3 else f" - {name}: {value:.4e}"
        return text
