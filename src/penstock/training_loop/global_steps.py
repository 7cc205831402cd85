"""The global step, as hooks read it."""

from __future__ import annotations

from typing import Any

from penstock.train.global_step import get_global_step


def needed_global_step(who: object) -> Any:
    """The global step of the default graph. Raises RuntimeError if there is none.

    Fetched in a step, it may have the value before or after the step, by where its update stands in the graph.
    """
    found = get_global_step()
    if found is None:
        raise RuntimeError(f"Global step should be created to use {type(who).__name__}.")
    return found
