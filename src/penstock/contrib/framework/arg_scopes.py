"""`arg_scope`: defaults for arguments of the functions called inside (TF: tf.contrib.framework.arg_scope)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from penstock.export import export

F = TypeVar("F", bound=Callable[..., Any])
Scope = dict[str, dict[str, Any]]
"""The defaults that are set: for the key of each function, arguments by name."""

_current: ContextVar[Scope] = ContextVar("arg_scope", default={})  # noqa: B039 (it is never changed in place)
_settable: dict[str, tuple[str, ...]] = {}


@export("contrib.framework.current_arg_scope", "contrib.slim.current_arg_scope")
def current_arg_scope() -> Scope:
    """All defaults that are set here."""
    return _current.get()


@export("contrib.framework.arg_scope_func_key", "contrib.slim.arg_scope_func_key")
def arg_scope_func_key(op: Any) -> str:
    """The key of the function `op` in a scope."""
    return getattr(op, "_key_op", str(op))


@export("contrib.framework.arg_scope", "contrib.slim.arg_scope")
@contextmanager
def arg_scope(list_ops_or_scope: Any, **kwargs: Any) -> Iterator[Scope]:
    """Inside, `kwargs` are defaults for calls of the functions in a list.

    Raises ValueError for a function that is not decorated with `add_arg_scope`. A scope from an earlier `with
    arg_scope(…) as scope`, passed instead of a list (without `kwargs`), replaces all defaults. Raises TypeError for
    others.
    """
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError("A scope that is used again takes no further arguments")
        scope = dict(list_ops_or_scope)
    elif isinstance(list_ops_or_scope, list | tuple):
        scope = dict(current_arg_scope())
        for op in list_ops_or_scope:
            if not has_arg_scope(op):
                name = getattr(op, "__qualname__", op)
                raise ValueError(f"{name} is not decorated with @add_arg_scope")
            key = arg_scope_func_key(op)
            scope[key] = {**scope.get(key, {}), **kwargs}
    else:
        raise TypeError(f"list_ops_or_scope must be a list, a tuple or a scope, got {list_ops_or_scope!r}")
    token = _current.set(scope)
    try:
        yield scope
    finally:
        _current.reset(token)


@export("contrib.framework.add_arg_scope", "contrib.slim.add_arg_scope")
def add_arg_scope(func: F) -> F:
    """A decorator: lets `arg_scope` set defaults for the arguments of `func`."""
    key = arg_scope_func_key(func)

    @functools.wraps(func)
    def with_defaults(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **{**_current.get().get(key, {}), **kwargs})

    parameters = inspect.signature(func).parameters.values()
    _settable[key] = tuple(p.name for p in parameters if p.default is not p.empty)
    with_defaults._key_op = key  # type: ignore[attr-defined]
    return with_defaults  # type: ignore[return-value]


@export("contrib.framework.has_arg_scope", "contrib.slim.has_arg_scope")
def has_arg_scope(func: Any) -> bool:
    """Whether `func` was decorated with `add_arg_scope`."""
    return arg_scope_func_key(func) in _settable


@export("contrib.framework.arg_scoped_arguments", "contrib.slim.arg_scoped_arguments")
def arg_scoped_arguments(func: Any) -> tuple[str, ...]:
    """The arguments of `func` that a scope can set: those with defaults."""
    if not has_arg_scope(func):
        raise AssertionError(f"{func} is not decorated with @add_arg_scope")
    return _settable[arg_scope_func_key(func)]
