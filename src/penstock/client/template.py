"""`make_template`: a function whose variables are created by its first call and shared by all later ones."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from penstock.client.variable_scope import VariableScope, _unique_name, pure_variable_scope, variable_scope
from penstock.export import export
from penstock.graph.scopes import GraphKeys, get_collection

MSG_NEW_VARIABLES = (
    "New variable(s) created when calling a template after the first time, perhaps you used tf.Variable when "
    "you meant tf.get_variable: {}"
)


class Template:
    """A function with its own variable scope; see `make_template`."""

    def __init__(
        self,
        name: str,
        func: Callable[..., Any],
        create_scope_now: bool = False,
        unique_name: str | None = None,
        custom_getter: Any = None,
    ) -> None:
        if name is None:
            raise ValueError("name cannot be None.")
        self._name = name
        self._func = func
        self._unique_name = unique_name
        self._custom_getter = custom_getter
        self._lock = threading.RLock()
        self._called = False
        self._scope: VariableScope | None = None
        if create_scope_now:
            with pure_variable_scope(unique_name or _unique_name(name), custom_getter=custom_getter) as scope:
                self._scope = scope

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            if self._scope is None:
                # The first call determines the scope; only a unique name must not get a number.
                with variable_scope(self._unique_name, self._name, custom_getter=self._custom_getter) as scope:
                    self._scope = scope
                    return self._first_call(args, kwargs)
            if not self._called:
                with variable_scope(self._scope, reuse=False):
                    return self._first_call(args, kwargs)
            with variable_scope(self._scope, reuse=True):
                return self._later_call(args, kwargs)

    def _first_call(self, args: Any, kwargs: Any) -> Any:
        found = self._func(*args, **kwargs)
        self._called = True
        return found

    def _later_call(self, args: Any, kwargs: Any) -> Any:
        before = get_collection(GraphKeys.TRAINABLE_VARIABLES)
        found = self._func(*args, **kwargs)
        new = get_collection(GraphKeys.TRAINABLE_VARIABLES)[len(before) :]
        if new:
            raise ValueError(MSG_NEW_VARIABLES.format([v.name for v in new]))
        return found

    @property
    def name(self) -> str:
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        return self._func

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope of its variables; None before the first call."""
        return self._scope

    @property
    def var_scope(self) -> VariableScope | None:
        return self._scope

    @property
    def variable_scope_name(self) -> str | None:
        """The scope's name with its final "/"."""
        return None if self._scope is None else f"{self._scope.name.removesuffix('/')}/"

    @property
    def global_variables(self) -> list[Any]:
        return [] if self._scope is None else self._scope.global_variables()

    @property
    def variables(self) -> list[Any]:
        return self.global_variables + self.local_variables

    @property
    def trainable_variables(self) -> list[Any]:
        return [] if self._scope is None else self._scope.trainable_variables()

    @property
    def non_trainable_variables(self) -> list[Any]:
        trained = set(self.trainable_variables)
        return [v for v in self.variables if v not in trained]

    @property
    def local_variables(self) -> list[Any]:
        return [] if self._scope is None else self._scope.local_variables()


@export("make_template")
def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Template:
    """`func_` with `kwargs` bound, sharing the variables that its first call creates with `get_variable`.

    name_: the scope, made unique in the scope of the first call (of this call with `create_scope_now_`).
    unique_name_: a scope name to use unchanged. Raises ValueError if a later call creates new variables. TF:
    tf.make_template.
    """
    func = functools.partial(func_, **kwargs) if kwargs else func_
    return Template(name_, func, create_scope_now_, unique_name_, custom_getter_)
