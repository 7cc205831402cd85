"""AutoGraph is not here: its modules can be imported, and what rewrites Python's statements says so when it is used.

Libraries import them for functions of theirs that few programs call (TF: tensorflow.python.autograph).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from penstock.export import export

F = TypeVar("F", bound=Callable[..., Any])


@export("autograph.experimental.do_not_convert")
def do_not_convert(func: F | None = None, *args: Any, **kwargs: Any) -> Any:
    """A decorator without effect: no function is rewritten."""
    return func if func is not None else lambda decorated: decorated


@export("autograph.set_verbosity")
def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """How much is said of conversions (TF: tf.autograph.set_verbosity): nothing, as there are none."""


class _NotHere:
    """Stands for a class or a function of AutoGraph; classes may inherit from it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse(type(self).__name__)


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name} needs AutoGraph, which Penstock does not have: write conditions with tf.cond and loops with "
        "tf.while_loop."
    )


def __getattr__(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return type(name, (_NotHere,), {})
