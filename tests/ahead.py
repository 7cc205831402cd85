"""Compiling for many tests at once: with a compiler for each of thousands of small functions they would take hours.

Children of this process run the tests first. They only note what is to be compiled, so that the nodes' own kernels
compute; then they compile it, many functions in a file. The tests proper find it in the cache; what they do not find,
since their numbers are random or a child died, they compile themselves.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from penstock.codegen.c.compiler import Compiler
from penstock.codegen.c.source import Source
from penstock.devices import processors

FEWEST = 20
"""Tests that are worth it."""
CHILDREN = 2
"""For each processor: nearly half of the time a test waits, for threads, processes and its timeouts."""
BLOCK = 25
"""Tests that one child takes, before the next takes as many: neighbours compile much that is the same."""
FILE = 100
"""Functions in one file."""

_noted: dict[str, Source] = {}


def note_ahead(session: pytest.Session) -> bool:
    """Wait for children that compile what the tests need. True in each of them, which is to run its part of the tests,
    and then to `compile_noted`."""
    if len(session.items) < FEWEST:
        return False
    count = min(CHILDREN * max(1, int(processors.usable())), -(-len(session.items) // BLOCK))
    children = []
    for number in range(count):
        child = os.fork()
        if not child:
            _become_child(session, number, count)
            return True
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    return False


def _become_child(session: pytest.Session, number: int, count: int) -> None:
    session.items = [item for i, item in enumerate(session.items) if i // BLOCK % count == number]
    session.config.option.maxfail = 0  # whatever fails here will do so later, where it is seen
    session.config.pluginmanager.unregister(name="terminalreporter")
    for_others = Compiler.compile

    def note(self: Compiler, source: Source) -> Any:
        if type(self) is not Compiler:
            return for_others(self, source)
        _noted[source.name] = source
        return None

    Compiler.compile = note  # type: ignore[method-assign]


def compile_noted() -> None:
    """Compile all that was noted, and end the child."""
    compiler, sources = Compiler(), list(_noted.values())
    try:
        for start in range(0, len(sources), FILE):
            compiler._try(sources[start : start + FILE])
    finally:
        os._exit(0)
