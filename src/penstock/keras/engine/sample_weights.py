"""Weights of samples: those that programs give, and those of classes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


def sample_weights_of(sample_weight: Any, class_weight: Any, targets: list[Any], names: list[str]) -> list[Any] | None:
    """Weights for each output's samples, from weights of samples and of classes; None if all are 1."""
    by_classes = [_of_output(class_weight, i, name, len(names)) for i, name in enumerate(names)]
    if sample_weight is None and not any(by_classes):
        return None
    found = []
    for i, (name, target) in enumerate(zip(names, targets, strict=True)):
        weight = _for_output(sample_weight, i, name, len(names))
        by_class = by_classes[i]
        weights = np.ones(len(target), np.float32) if weight is None else np.asarray(weight, np.float32)
        if by_class:
            numbered = target if target.shape[-1] > 1 else target.astype(int)
            weights = weights * weights_of_classes(numbered, by_class).astype(np.float32)
        if weights.shape[0] != len(target):
            raise ValueError(f"Found a sample_weight of shape {weights.shape} for {len(target)} samples of {name}.")
        found.append(weights)
    return found


def _of_output(class_weight: Any, i: int, name: str, count: int) -> dict[Any, float] | None:
    """The weights of one output's classes; what is no dict, as an array of them, counts for nothing in TensorFlow."""
    if isinstance(class_weight, dict):
        found = class_weight.get(name, None if count > 1 else class_weight)
    elif isinstance(class_weight, list | tuple) and len(class_weight) == count:
        found = class_weight[i]
    else:
        found = None
    if found is None and count == 1 and class_weight is not None and np.size(class_weight):
        warnings.warn(
            "class_weight is no dict {class: weight}, so it has no effect, as in TensorFlow 1.15: "
            "pass dict(enumerate(weights)).",
            stacklevel=2,
        )
    return found if isinstance(found, dict) else None


def _for_output(given: Any, i: int, name: str, count: int) -> Any:
    if isinstance(given, dict):
        return given.get(name)
    if isinstance(given, list | tuple) and (count > 1 or (len(given) == 1 and np.ndim(given[0]) > 0)):
        return given[i]
    return given


def weights_of_classes(target: np.ndarray, class_weight: Any) -> np.ndarray:
    """The weight of each row's class: its number, or the largest of its columns. Raises ValueError for classes without
    a weight, and for targets that are no rows."""
    if target.ndim > 2:
        raise ValueError("`class_weight` not supported for 3+ dimensional targets.")
    classes = target.argmax(axis=1) if target.ndim == 2 and target.shape[1] > 1 else target.ravel()
    missing = set(classes.tolist()) - set(class_weight)
    if missing:
        raise ValueError(
            f"`class_weight` must contain all classes in the data. The classes {missing} exist in the data but not in "
            "`class_weight`."
        )
    return np.asarray([class_weight[c] for c in classes.tolist()])
