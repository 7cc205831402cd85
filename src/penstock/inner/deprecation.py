"""Decorators of what is outdated (TF: tensorflow.python.util.deprecation); `deprecated` is contrib.framework's."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from penstock import logging as tf_logging

F = TypeVar("F", bound=Callable[..., Any])


def deprecated_args(
    date: str | None, instructions: str, *deprecated_arg_names_or_tuples: Any, **kwargs: Any
) -> Callable[[F], F]:
    """A decorator: a call that passes one of the arguments logs a warning, the first one only unless `warn_once=False`.

    An entry ("name", value) means that passing this value does not count.
    """
    harmless: dict[str, Any] = dict(
        entry if isinstance(entry, tuple) else (entry, _NOTHING) for entry in deprecated_arg_names_or_tuples
    )
    return _warning_if(
        lambda given: [name for name in harmless if name in given and given[name] is not harmless[name]],
        date, instructions, kwargs.get("warn_once", True),
    )  # fmt: skip


def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any
) -> Callable[[F], F]:
    """A decorator: a call in which an argument has the value given here logs a warning."""
    return _warning_if(
        lambda given: [name for name, value in deprecated_kwargs.items() if name in given and given[name] == value],
        date, instructions, warn_once,
    )  # fmt: skip


_NOTHING = object()


def _warning_if(
    outdated: Callable[[dict[str, Any]], list[str]], date: str | None, instructions: str, warn_once: bool
) -> Callable[[F], F]:
    def decorate(func: F) -> F:
        warned: set[str] = set()
        signature = inspect.signature(func)

        @functools.wraps(func)
        def warning(*args: Any, **kwargs: Any) -> Any:
            for name in outdated(signature.bind(*args, **kwargs).arguments):
                if name not in warned or not warn_once:
                    warned.add(name)
                    tf_logging.warning(
                        "calling %s (from %s) with %s is deprecated and will be removed %s. Instructions: %s",
                        func.__qualname__, func.__module__, name,
                        "in a future version" if date is None else f"after {date}", instructions,
                    )  # fmt: skip
            return func(*args, **kwargs)

        return warning  # type: ignore[return-value]

    return decorate


def deprecated_endpoints(*args: str) -> Callable[[F], F]:
    """A decorator without effect: names are public by `tf_export`."""
    return lambda func: func


def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """The value of an argument with two names. Raises ValueError if both were given."""
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old_value


def rewrite_argument_docstring(old_doc: str, old_argument: str, new_argument: str) -> str:
    """The text with an argument's new name."""
    return old_doc.replace(f"`{old_argument}`", f"`{new_argument}`").replace(f"{old_argument}:", f"{new_argument}:")


def silence() -> AbstractContextManager[None]:
    """For a `with` statement: warnings are logged once in any case."""
    return nullcontext()
