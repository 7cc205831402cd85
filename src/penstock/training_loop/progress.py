"""`Progress`: how far a loop has come, as a bar on terminals and as lines elsewhere."""

from __future__ import annotations

import logging
import sys
import time
import weakref
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

import numpy as np
from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

from penstock.logging import get_logger

_BAR_SECONDS, _LINE_SECONDS = 0.1, 10.0


class Progress:
    """Shows the steps done, steps per second, the time left, and values such as the loss.

    On a terminal this is a bar, above which log messages appear; elsewhere a line every ten seconds and one at the
    end. `update` is cheap: most calls only look at the clock. Values need be computed only when `due`.
    """

    def __init__(
        self,
        total: int | None = None,
        *,
        initial: int = 0,
        description: str = "",
        unit: str = "steps",
        file: Any = None,
        seconds: float | None = None,
        leave: bool = True,
    ) -> None:
        """total: the last step, if it is known. initial: the step to begin at. file: stderr by default. seconds: from
        one display to the next. leave: whether the bar or last line stays."""
        self._file = sys.stderr if file is None else file
        self._total, self._initial, self._step = total, initial, initial
        self._description, self._unit, self._leave = description, unit, leave
        self._values: Mapping[str, Any] = {}
        self._began = self._shown_at = time.monotonic()
        self._shown = initial
        self._bar: Any = None
        self._redirected = ExitStack()
        weakref.finalize(self, self._redirected.close)  # should an error keep the loop from its `close`
        on_terminal = bool(getattr(self._file, "isatty", lambda: False)())
        self._seconds = seconds if seconds is not None else _BAR_SECONDS if on_terminal else _LINE_SECONDS
        if on_terminal:
            self._redirected.enter_context(logging_redirect_tqdm(_console_loggers(), tqdm_class=_Bar))
            self._bar = _Bar(
                total=total, initial=initial, desc=description or None, unit=f" {unit}", file=self._file, leave=leave,
                mininterval=0, miniters=0, dynamic_ncols=True,
            )  # fmt: skip

    @property
    def due(self) -> bool:
        """Whether the next `update` is displayed."""
        return time.monotonic() - self._shown_at >= self._seconds

    def update(self, step: int, values: Mapping[str, Any] | None = None) -> None:
        """`step` steps have been done. `values`: by name, shown until there are others."""
        self.reached(step, values)
        if self.due:
            self._show()

    def reached(self, step: int, values: Mapping[str, Any] | None = None) -> None:
        """Like `update`, but shown later: by the next `update` that is due, or at the end."""
        self._step = step
        if values is not None:
            self._values = values

    def advance(self, steps: int = 1, values: Mapping[str, Any] | None = None) -> None:
        """So many more steps have been done."""
        self.update(self._step + steps, values)

    def close(self) -> None:
        """Show where the loop ended. Later calls do nothing."""
        if self._file is None:
            return
        if self._bar is not None:
            self._show()
            self._bar.close()
            self._redirected.close()
        elif self._leave:
            self._shown, self._shown_at = self._initial, self._began
            self._print_line(ended=True)
        self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- what is shown ----------------------------------------------------------------------------------

    def _show(self) -> None:
        if self._file is None:
            return
        if self._bar is not None:
            self._bar.set_postfix_str(_text(self._values), refresh=False)
            if self._step < self._bar.n:  # a session that was lost continues from an earlier step
                self._bar.n = self._step
            self._bar.update(self._step - self._bar.n)
        else:
            self._print_line()
        self._shown, self._shown_at = self._step, time.monotonic()

    def _print_line(self, ended: bool = False) -> None:
        """The rate is that since the last line, in the last line that of the whole loop."""
        seconds = time.monotonic() - self._shown_at
        rate = max(0, self._step - self._shown) / seconds if seconds > 0 else 0.0
        parts = [f"{self._unit.removesuffix('s')} {self._step}"]
        if self._total:
            parts[0] += f"/{self._total} ({100 * self._step // self._total}%)"
        parts.append(f"{rate:.4g} {self._unit}/s")
        if ended:
            parts.append(f"{_duration(seconds)} in all")
        elif self._total and rate:
            parts.append(f"{_duration(max(0, self._total - self._step) / rate)} left")
        if self._values:
            parts.append(_text(self._values))
        start = f"{self._description}: " if self._description else ""
        print(start + ", ".join(parts), file=self._file, flush=True)


class _Bar(tqdm):
    monitor_interval = 0  # no thread that wakes up bars


def _console_loggers() -> list[logging.Logger]:
    """Loggers that write to the terminal themselves; their messages must not run into the bar."""
    return [
        logger
        for logger in (logging.getLogger(), get_logger())
        if any(getattr(handler, "stream", None) in (sys.stdout, sys.stderr) for handler in logger.handlers)
    ]


def _text(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {_value(value)}" for name, value in values.items())


def _value(value: Any) -> str:
    if np.ndim(value) == 0 and isinstance(value, float | np.floating | np.ndarray):
        return f"{float(value):.4g}"
    return str(value)


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
