"""`@export("nn.relu")`: the public names of a function or class, written where it is defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def export(*names: str) -> Callable[[T], T]:
    """Decorator: the public names, without `tf.`. It leaves what it decorates as it is.

    `python -m penstock.api.generate` reads it from the source, and writes the tables by which `tf.nn.relu` finds the
    function without everything being imported first.
    """
    return lambda thing: thing
