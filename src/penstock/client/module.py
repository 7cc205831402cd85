"""`tf.Module`: objects that find the variables and modules among their attributes (TF: tf.Module)."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from penstock.client.trackable import NoDependency, Trackable
from penstock.client.variable import Variable
from penstock.export import export
from penstock.graph.scopes import name_scope
from penstock.nested import tree

_WORDS = re.compile(r"((?<=[a-z0-9])[A-Z]|(?!^)[A-Z](?=[a-z]))")
_NAME = re.compile(r"[a-zA-Z_]\w*", re.ASCII)


@export("Module")
class Module(Trackable):
    """Holds variables and other modules as attributes, or in lists, tuples and dicts that are attributes.

    name: a name of Python's; without one, the class's (`MyModule` is `my_module`). Raises ValueError for another.
    """

    _TF_MODULE_IGNORED_PROPERTIES: frozenset[str] = frozenset()
    """Attributes that are not looked into; subclasses extend it."""

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = _WORDS.sub(r"_\1", type(self).__name__).lower()
        elif not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a valid module name. Module names must be valid Python identifiers")
        self._name = name
        with name_scope(name) as scope:
            self._scope_name = scope

    @property
    def name(self) -> str:
        return self._name

    @property
    def name_scope(self) -> Any:
        """The scope of names that was opened when it was made, to be entered again."""
        return name_scope(self._scope_name)

    @property
    def variables(self) -> tuple[Any, ...]:
        """Its variables in the order of the attributes' names, then those of its modules."""
        return tuple(self._flatten(predicate=_is_variable))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        return tuple(self._flatten(predicate=lambda leaf: _is_variable(leaf) and leaf.trainable))

    @property
    def submodules(self) -> tuple[Any, ...]:
        """The modules among its attributes, then those of theirs."""
        return tuple(self._flatten(predicate=lambda leaf: isinstance(leaf, Module)))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
    ) -> Iterator[Any]:
        """The values among its attributes for which `predicate` is true, each once, in the order of the names.

        recursive: those of its modules, too, after its own. attribute_traversal_key: the key of the order.
        with_path: pairs of the path (attribute, index, …) and the value, which may come by several paths.
        """
        chosen = predicate or (lambda _: True)
        found = _walk(self, recursive, chosen, attribute_traversal_key, None if with_path else {id(self)}, ())
        return found if with_path else (leaf for _, leaf in found)

    def _no_dependency(self, value: Any) -> Any:
        """`value`, for an attribute that is left out of checkpoints."""
        return NoDependency(value)

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator of a method: what it makes has names in the module's scope."""

        @functools.wraps(method)
        def in_scope(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return in_scope


def _is_variable(leaf: Any) -> bool:
    return isinstance(leaf, Variable)


def _walk(
    module: Module,
    recursive: bool,
    chosen: Callable[[Any], bool],
    key: Callable[[str], Any] | None,
    seen: set[int] | None,
    path: tuple[Any, ...],
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Its own values first, then its modules', which are `seen` once (by paths: always)."""
    inner: list[tuple[tuple[Any, ...], Module]] = []
    for name in sorted(vars(module), key=key):
        if name in module._TF_MODULE_IGNORED_PROPERTIES:
            continue
        for place, leaf in tree.flatten_with_path(vars(module)[name]):
            if seen is not None:
                if id(leaf) in seen:
                    continue
                seen.add(id(leaf))
            if chosen(leaf):
                yield (*path, name, *place), leaf
            if recursive and isinstance(leaf, Module):
                inner.append(((*path, name, *place), leaf))
    for place, leaf in inner:
        yield from _walk(leaf, recursive, chosen, key, seen, place)
