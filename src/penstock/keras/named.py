"""Keras' objects by name, and as plain data: {"class_name": ..., "config": ...}, or the name of a function."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from typing import Any

from penstock.api.namespace import load, names_in
from penstock.export import export

_custom: dict[str, Any] = {}


@export("keras.utils.get_custom_objects")
def get_custom_objects() -> dict[str, Any]:
    """What names stand for besides Keras' own objects; programs add to it."""
    return _custom


@export("keras.utils.CustomObjectScope")
class CustomObjectScope:
    """`with CustomObjectScope({"MyLayer": MyLayer})`: names that mean something inside."""

    def __init__(self, *args: Any) -> None:
        self._added = {name: thing for objects in args for name, thing in objects.items()}

    def __enter__(self) -> CustomObjectScope:
        self._before = dict(_custom)
        _custom.update(self._added)
        return self

    def __exit__(self, *error: Any) -> None:
        _custom.clear()
        _custom.update(self._before)


@export("keras.utils.custom_object_scope")
def custom_object_scope(*args: Any) -> CustomObjectScope:
    """Names that mean something inside the scope."""
    return CustomObjectScope(*args)


def named(kind: str, name: str, custom_objects: Any = None) -> Any:
    """The object of tf.keras.`kind` that has this name. Raises ValueError if there is none."""
    for known in (custom_objects or {}, _custom):
        if name in known:
            return known[name]
    public = names_in(f"penstock.keras.{kind}")
    if name not in public:
        near = get_close_matches(name, public, n=1)
        meant = f" Did you mean {near[0]!r}?" if near else " Pass what it is in custom_objects."
        raise ValueError(f"Unknown {kind.rstrip('s').removesuffix('e')}: {name}.{meant}")
    return load(*public[name])


def find(kind: str, identifier: Any, custom_objects: Any = None) -> Any:
    """What `identifier` stands for: a name, plain data, or the object itself."""
    if isinstance(identifier, str):
        return named(kind, identifier, custom_objects)
    if isinstance(identifier, dict):
        return from_description(kind, identifier, custom_objects)
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret {kind} identifier: {identifier!r}")


def made(kind: str, identifier: Any, custom_objects: Any = None) -> Any:
    """Like `find`, but an instance of a class, and what a family ("he_normal", "l2") makes."""
    found = find(kind, identifier, custom_objects)
    family = kind in ("initializers", "regularizers") and inspect.isfunction(found)
    of_ours = isinstance(identifier, str) and family and found.__module__.startswith("penstock.")
    return found() if isinstance(found, type) or of_ours else found


@export("keras.utils.deserialize_keras_object")
def deserialize_keras_object(
    identifier: Any, module_objects: Any = None, custom_objects: Any = None, printable_module_name: str = "object"
) -> Any:
    """The object that plain data or a name describes, among `module_objects` and custom ones."""
    objects = {**(module_objects or {}), **_custom, **(custom_objects or {})}
    name = identifier if isinstance(identifier, str) else identifier["class_name"]
    if name not in objects:
        raise ValueError(f"Unknown {printable_module_name}: {name}")
    if isinstance(identifier, str):
        return objects[name]
    return _from_config(objects[name], identifier.get("config", {}), custom_objects)


def from_description(kind: str, data: dict[str, Any], custom_objects: Any = None) -> Any:
    """The object that {"class_name": …, "config": …} describes."""
    if not isinstance(data, dict) or "class_name" not in data:
        raise ValueError(f"Improper config format: {data!r}")
    kind = "layers" if kind == "activations" else kind  # an activation that is no function is a layer, as LeakyReLU()
    return _from_config(named(kind, data["class_name"], custom_objects), data.get("config") or {}, custom_objects)


def _from_config(found: Any, config: Any, custom_objects: Any) -> Any:
    if not hasattr(found, "from_config"):
        return found(**config)
    takes = inspect.signature(found.from_config).parameters
    if "custom_objects" in takes:
        return found.from_config(config, custom_objects=custom_objects)
    with CustomObjectScope(custom_objects or {}):
        return found.from_config(config)


@export("keras.utils.serialize_keras_object")
def described(instance: Any) -> Any:
    """Plain data from which `instance` can be made again. Raises ValueError for what has no name."""
    if instance is None or isinstance(instance, str | dict):
        return instance
    if hasattr(instance, "get_config"):
        return {"class_name": type(instance).__name__, "config": instance.get_config()}
    if hasattr(instance, "__name__"):
        return instance.__name__
    raise ValueError(f"Cannot serialize {instance!r}")
