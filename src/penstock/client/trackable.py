"""What checkpoints of objects save: variables, and objects that have them, by the names of attributes.

TF: python/training/tracking. TensorFlow notes dependencies when attributes are set; here they are looked up when a
checkpoint is saved or restored, so that objects need not be of special classes before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.client.variable import Variable
from penstock.export import export


class TrackableReference(NamedTuple):
    """An object that another one depends on, and its name there."""

    name: str
    ref: Any


@dataclass(frozen=True)
class Constant:
    """A number that TensorFlow keeps in a variable, and this system in the graph: saved, and compared on restoring."""

    value: float
    name: str


@export("contrib.checkpoint.NoDependency")
class NoDependency:
    """As the value of an attribute: what it holds is set, but belongs to no checkpoint of the object."""

    def __init__(self, value: Any) -> None:
        self.value = value


@export("contrib.checkpoint.CheckpointableBase")
class Trackable:
    """An object whose attributes are saved: those that are trackable, and lists and dicts with such.

    One that is set to a `NoDependency` is not.
    """

    _not_tracked: set[str]
    _untracked: frozenset[str] = frozenset()
    """Attributes of the system's own, which are not looked into."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, NoDependency):
            self.__dict__.setdefault("_not_tracked", set()).add(name)
            value = value.value
        elif "_not_tracked" in self.__dict__:
            self._not_tracked.discard(name)
        super().__setattr__(name, value)

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """The objects that it depends on. Subclasses may have other names for them."""
        found = dict(vars(self).get("_tracked", {}))
        for name, value in vars(self).items():
            if name not in self._untracked and name not in ("_tracked", "_not_tracked") and _holds(value):
                found.setdefault(name, value)
        for name in vars(self).get("_not_tracked", ()):
            found.pop(name, None)
        return [TrackableReference(name, ref) for name, ref in found.items()]

    def _track_trackable(self, trackable: Any, name: str, overwrite: bool = False) -> Any:
        """Make `trackable` a dependency, under a name that is no attribute's. Raises ValueError for a second one."""
        tracked = self.__dict__.setdefault("_tracked", {})
        if not overwrite and tracked.get(name, trackable) is not trackable:
            raise ValueError(f"Called Trackable._track_trackable() with name='{name}', but it is there already.")
        tracked[name] = trackable
        return trackable

    _track_checkpointable = _track_trackable


@export("contrib.checkpoint.Checkpointable")
class AutoTrackable(Trackable):
    """A class for objects of programs that are saved."""


@export("contrib.checkpoint.List")
class List(Trackable, list[Any]):
    """A list that is saved by itself: its elements are called "0", "1", …"""

    def __init__(self, *values: Any) -> None:
        super().__init__(*values)

    def append(self, value: Any) -> None:
        super().append(value)

    def extend(self, values: Any) -> None:
        super().extend(values)

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        return _of_list(self)


@export("contrib.checkpoint.Mapping")
class Mapping(Trackable, dict[str, Any]):
    """A dict from strings that is saved by itself. Raises TypeError for other keys, ValueError for one set anew."""

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__()
        self.update(*values, **named)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"Mapping accepts only string keys, but got a key {key!r}.")
        if self.get(key, value) is not value:
            raise ValueError(f"Mappings are an append-only data structure. Tried to overwrite the key {key!r}")
        super().__setitem__(key, value)

    def update(self, *values: Any, **named: Any) -> None:
        for key, value in dict(*values, **named).items():
            self[key] = value

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        return _of_dict(self)


def is_trackable(value: Any) -> bool:
    return isinstance(value, Variable | Trackable)


def dependencies(value: Any) -> list[TrackableReference]:
    """What a trackable object, or a list or dict in one, depends on.

    Raises ValueError for a dict that has such under keys that are no strings.
    """
    if isinstance(value, Trackable):
        return [each for each in value._checkpoint_dependencies if _holds(each.ref)]
    return _of_list(value) if isinstance(value, list) else _of_dict(value) if isinstance(value, dict) else []


def _of_list(values: list[Any]) -> list[TrackableReference]:
    return [TrackableReference(str(i), value) for i, value in enumerate(values) if _holds(value)]


def _of_dict(values: dict[Any, Any]) -> list[TrackableReference]:
    held = {key: value for key, value in values.items() if _holds(value)}
    other = [key for key in held if not isinstance(key, str)]
    if other:
        raise ValueError(
            f"The key {other[0]!r} of a dict is no string, but has a trackable object: it cannot be saved."
        )
    return [TrackableReference(key, value) for key, value in held.items()]


def _holds(value: Any) -> bool:
    """Whether it is saved: lists and dicts are if something in them is."""
    if isinstance(value, Variable | Trackable | Constant):
        return True
    inside = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return any(map(_holds, inside))
