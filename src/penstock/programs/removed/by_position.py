"""Arguments by position, as functions took them whose arguments are given by name only now, in the order they had."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from penstock.programs.report import REPORT

Fit = Callable[[Any, str, dict[str, Any], Mapping[str, Any]], None]
"""Makes the named arguments of a call those of today: given the owner, its name, the arguments, and the parameters."""


def patch_public(module: ModuleType, fit: Fit | None = None) -> None:
    """All public classes and functions of a module: its `__all__`, or else what it defines."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    for name in getattr(module, "__all__", [name for name in own if not name.startswith("_")]):
        found = vars(module).get(name)
        if inspect.isclass(found) and inspect.isfunction(found.__init__) and "__init__" in vars(found):
            found.__init__ = taking(found.__init__, name, fit, found)  # type: ignore[method-assign]
        elif inspect.isfunction(found):
            setattr(module, name, taking(found, name, fit, found))


def taking(function: Callable[..., Any], name: str, fit: Fit | None = None, owner: Any = None) -> Callable[..., Any]:
    """`function`, which takes arguments by position that are given by name only."""
    parameters = inspect.signature(function).parameters
    kinds = [(each.name, each.kind) for each in parameters.values()]
    first = [key for key, kind in kinds if kind in (inspect.Parameter.POSITIONAL_ONLY, _EITHER)]
    named = [key for key, kind in kinds if kind is inspect.Parameter.KEYWORD_ONLY]
    if any(kind is inspect.Parameter.VAR_POSITIONAL for _, kind in kinds) or (not named and fit is None):
        return function

    @functools.wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        if 0 < len(args) - len(first) <= len(named):
            REPORT.use(f"{name} with arguments by position", None)
            options.update(zip(named, args[len(first) :], strict=False))
            args = args[: len(first)]
        if fit is not None:
            fit(owner, name, options, parameters)
        return function(*args, **options)

    return called


_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD
