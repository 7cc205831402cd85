"""Functions through which variables are made (TF: tf.variable_creator_scope)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock.export import export

Creator = Callable[..., Any]
"""Called with the next creator and with the arguments of `tf.Variable` by name; returns the variable."""


class _Creators(threading.local):
    """The creators of this thread's open scopes, innermost last."""

    def __init__(self) -> None:
        self.stack: tuple[Creator, ...] = ()


creators = _Creators()


@export("variable_creator_scope")
@contextmanager
def variable_creator_scope(variable_creator: Creator) -> Iterator[None]:
    """Variables that are made inside are what `variable_creator(next_creator, **kwargs)` returns.

    kwargs: the arguments of `tf.Variable` that were given; the creator may change them, and usually calls
    `next_creator(**kwargs)`. TF: tf.variable_creator_scope.
    """
    outer = creators.stack
    creators.stack = (*outer, variable_creator)
    try:
        yield
    finally:
        creators.stack = outer
