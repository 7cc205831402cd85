"""`HParams`: hyperparameters with types, read from text or JSON (TF: tf.contrib.training.HParams)."""

from __future__ import annotations

import json
import numbers
import re
from typing import Any

from penstock.export import export

_ASSIGNMENT = re.compile(
    r"(?P<name>[A-Za-z][\w.]*)(\[\s*(?P<index>\d+)\s*\])?\s*=\s*((?P<value>[^,\[]*)|\[(?P<values>[^\]]*)\])($|,\s*)"
)
_BOOLS = {"true": True, "True": True, "false": False, "False": False}


@export("contrib.training.HParams")
class HParams:
    """Hyperparameters as attributes: `HParams(rate=0.1, layers=[64, 32]).rate`.

    The type of each is that of its first value; a list's elements have one type. Later values are converted if nothing
    is lost: an int becomes a float; raises ValueError for a float instead of an int, text instead of a number, or a
    list instead of a single value. A parameter whose first value is None accepts anything.
    """

    _hparam_types: dict[str, tuple[type, bool]]

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        """hparam_def: an HParams to copy values from. model_structure: any object to keep."""
        self._hparam_types = {}
        self._model_structure = model_structure
        for name, value in {**(hparam_def.values() if hparam_def is not None else {}), **kwargs}.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Add a hyperparameter; raises ValueError for a name that is taken, or an empty list."""
        if getattr(self, name, None) is not None or name in self._hparam_types:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        if isinstance(value, list | tuple):
            if not value:
                raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
            self._hparam_types[name] = (type(value[0]), True)
        else:
            self._hparam_types[name] = (type(value), False)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Set a hyperparameter; raises KeyError for an unknown name, ValueError for a wrong type."""
        kind, is_list = self._hparam_types[name]
        if isinstance(value, list):
            if not is_list and kind is not type(None):
                raise ValueError(f"Must not pass a list for single-valued parameter: {name}")
            setattr(self, name, [_converted(name, kind, v) for v in value])
            return
        if is_list:
            raise ValueError(f"Must pass a list for multi-valued parameter: {name}.")
        setattr(self, name, _converted(name, kind, value))

    def del_hparam(self, name: str) -> None:
        """Remove a hyperparameter, if it exists."""
        if hasattr(self, name):
            delattr(self, name)
            self._hparam_types.pop(name, None)

    def override_from_dict(self, values_dict: dict[str, Any]) -> HParams:
        """Set several; returns this object."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def parse(self, values: str) -> HParams:
        """Set values from text: "rate=0.1,layers=[64,32],layers[1]=16"; returns this object.

        Raises ValueError for malformed text or unknown names.
        """
        for name, value in parse_values(values, {n: kind for n, (kind, _) in self._hparam_types.items()}).items():
            if isinstance(value, dict):
                changed = list(getattr(self, name))
                for index, element in value.items():
                    if index >= len(changed):
                        raise ValueError(f"{name} has {len(changed)} elements, no element {index}")
                    changed[index] = element
                value = changed
            self.set_hparam(name, value)
        return self

    def parse_json(self, values_json: str) -> HParams:
        """Set values from a JSON object; returns this object."""
        return self.override_from_dict(json.loads(values_json))

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        """The values as a JSON object; functions are left out."""
        values = {name: value for name, value in self.values().items() if not callable(value)}
        return json.dumps(values, indent=indent, separators=separators, sort_keys=sort_keys)

    def values(self) -> dict[str, Any]:
        """All hyperparameters by name."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """The value of `key`, or `default` if there is none; raises ValueError for a default of a different type."""
        if key not in self._hparam_types:
            return default
        if default is not None:
            kind, is_list = self._hparam_types[key]
            if is_list != isinstance(default, list):
                raise ValueError(f"Hparam {key!r} {'is' if is_list else 'is not'} a list, the default {default!r}")
            for value in default if is_list else [default]:
                _converted(key, kind, value)
        return getattr(self, key)

    def set_model_structure(self, model_structure: Any) -> None:
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        return self._model_structure

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return str(sorted(self.values().items()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


def _converted(name: str, kind: Any, value: Any) -> Any:
    """`value` as `kind`, if that loses nothing."""
    if issubclass(kind, type(None)):
        return value
    wrong = ValueError(f"Could not cast hparam {name!r} of type {kind.__name__!r} from value {value!r}")
    if issubclass(kind, str | bytes) != isinstance(value, str | bytes):
        raise wrong
    if issubclass(kind, bool) != isinstance(value, bool):
        raise wrong
    if issubclass(kind, numbers.Number) and not isinstance(value, numbers.Number):
        raise wrong
    if issubclass(kind, numbers.Integral) and not isinstance(value, numbers.Integral):
        raise wrong
    return kind(value)


@export("contrib.training.parse_values")
def parse_values(values: str, type_map: dict[str, type], ignore_unknown: bool = False) -> dict[str, Any]:
    """Parses "name=value,…" into a dict by name; elements of a list that are set one by one are a dict by index.

    Raises ValueError for malformed text, values of a wrong type, and names that are assigned twice or (unless
    `ignore_unknown`) have no type.
    """
    found: dict[str, Any] = {}
    at = 0
    while at < len(values):
        match = _ASSIGNMENT.match(values, at)
        if match is None:
            raise ValueError(f"Malformed hyperparameter value: {values[at:]}")
        at = match.end()
        name, index = match["name"], match["index"]
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"Unknown hyperparameter type for {name}")
        if match["values"] is not None:
            if index is not None:
                raise ValueError(f"An element cannot be a list: {match[0]}")
            value: Any = [_parsed(name, type_map[name], v) for v in re.split(r"[ ,]+", match["values"].strip()) if v]
        else:
            value = _parsed(name, type_map[name], match["value"].strip())
        if index is not None and isinstance(found.setdefault(name, {}), dict) and int(index) not in found[name]:
            found[name][int(index)] = value
        elif index is None and name not in found:
            found[name] = value
        else:
            raise ValueError(f"Multiple assignments to variable {name!r} in {values}")
    return found


def _parsed(name: str, kind: type, text: str) -> Any:
    try:
        if kind is bool:
            return _BOOLS[text] if text in _BOOLS else bool(int(text))
        return text if kind is type(None) else kind(text)
    except ValueError:
        message = f"Could not parse hparam {name!r} of type {kind.__name__!r} with value {text!r}"
        raise ValueError(message) from None
