"""`@export("nn.relu")`: the public names of a function or class, written where it is defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def export(*names: str) -> Callable[[T], T]:
    """Decorator: the public names, without `tf.`. It returns what it decorates unchanged.

    `python -m penstock.api.generate` reads it from the source, and writes the tables from which `tf.nn.relu` finds the
    function without importing everything first.
    """
    return lambda thing: thing
