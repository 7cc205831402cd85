"""Many small functions, compiled together: each by itself would keep a compiler busy for a second."""

from __future__ import annotations

from typing import Any

from penstock.codegen.c.compiler import Compiler
from penstock.codegen.c.source import Source
from penstock.codegen.tuned.autotuning import _Loaded

FILE = 500
"""Functions in one file."""


class Together(Compiler):
    """At first it only notes what it is asked for, and what it gives cannot compute anything, so that the nodes' own
    kernels do. After `build` it gives what was compiled."""

    def __init__(self) -> None:
        super().__init__()
        self._noted: dict[str, Source] = {}
        self._built = False
        self.asked = 0
        """How often a function was asked for."""

    def compile(self, source: Source) -> Any:
        self.asked += 1
        if self._built:
            return super().compile(source)
        self._noted[source.name] = source
        return lambda *_: True

    def build_all(self) -> None:
        sources = list(self._noted.values())
        for start in range(0, len(sources), FILE):
            self._compile(sources[start : start + FILE])
        self._built = True
        _Loaded.of.cache_clear()
