"""`Logs`: what is logged, by the names that TensorFlow 1.15 gives it, and found by those that others give it too."""

from __future__ import annotations

import functools
import re
from typing import Any

_OTHERS = {
    "acc": "accuracy",
    "mse": "mean_squared_error",
    "mae": "mean_absolute_error",
    "mape": "mean_absolute_percentage_error",
    "msle": "mean_squared_logarithmic_error",
}
"""Keras 2.3 and TensorFlow 2 log a metric by the name that `compile` was given for it, earlier ones by one for all."""
_WORDS = _OTHERS | {other: name for name, other in _OTHERS.items()}
_NAME = re.compile(rf"(.*_)?({'|'.join(_WORDS)})(_\d+)?")


@functools.cache
def other_name(name: str) -> str | None:
    """What else a metric is called: "val_acc" for "val_accuracy" and the reverse; None if it has one name."""
    found = _NAME.fullmatch(name)
    return None if found is None else (found[1] or "") + _WORDS[found[2]] + (found[3] or "")


class Logs(dict[str, Any]):
    """A dict whose values are found by their other names too; it lists each once, and copies are plain dicts."""

    def _found(self, name: Any) -> Any:
        if super().__contains__(name):
            return name
        return other_name(name) if isinstance(name, str) else None

    def __contains__(self, name: object) -> bool:
        return super().__contains__(self._found(name))

    def __missing__(self, name: str) -> Any:
        other = other_name(name) if isinstance(name, str) else None
        if not super().__contains__(other):
            raise KeyError(name)
        return super().__getitem__(other)  # type: ignore[index]

    def get(self, name: Any, default: Any = None) -> Any:
        return super().get(self._found(name), default)

    def __reduce__(self) -> Any:
        return dict, (dict(self),)
