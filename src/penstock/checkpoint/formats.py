"""Formats of checkpoints, and which one is written where nothing says otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args

Format = Literal["penstock", "tensorflow", "tensorflow-v1"]

_FORMATS: tuple[Format, ...] = get_args(Format)
_VARIABLE = "PENSTOCK_CHECKPOINT_FORMAT"
_defaults: list[Format] = ["penstock"]


def default_format() -> Format:
    """Penstock's own or that of `by_default`, unless the environment says otherwise. Raises ValueError if that names no
    format."""
    return known_format(os.environ.get(_VARIABLE, _defaults[-1]))


@contextmanager
def by_default(format: Format) -> Iterator[None]:
    """Within the context, what says nothing of a format is written in this one, but for what the environment says."""
    _defaults.append(format)
    try:
        yield
    finally:
        _defaults.pop()


def known_format(name: str) -> Format:
    """The format of this name. Raises ValueError if there is none."""
    for known in _FORMATS:
        if name == known:
            return known
    raise ValueError(f"{name!r} is no format of checkpoints; there are {', '.join(map(repr, _FORMATS))}")
