"""What the batches of a pass come to: the loss, and metrics as means of all elements so far."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SAMPLES, STEPS, LAST, ELEMENTS = "samples", "steps", "last", "elements"


@dataclass
class Part:
    """One of the values that steps report, and how a pass sums it up.

    kind: "samples" for a mean over samples, "steps" for a mean over steps, "last" for what is a mean of the pass
    already, "elements" for a sum over elements that is divided by their number. count: for "elements", how many a
    sample has, or the tensor of their number in a batch.
    """

    kind: str
    tensor: Any
    count: Any = 1


class Tally:
    """Sums up a pass as tf.keras of TensorFlow 1.15 does: batches are told of metrics so far, and of their own loss.

    parts: a function that says what there is to sum up, of batches with weights of samples or without. by_steps: the
    loss is the mean over steps, and not over samples.
    """

    loss_by_steps = True
    is_kept = True
    """Whether steps after a pass, and those that say so, go on with its metrics."""

    def __init__(self, parts: Callable[[bool], list[Part]], by_steps: bool) -> None:
        self._parts, self._by_steps = functools.cache(parts), by_steps and self.loss_by_steps
        self._kinds = [part.kind for part in self._parts(False)]
        self._sums: list[Any] = [0.0] * len(self._kinds)
        self._counts: list[Any] = [0.0] * len(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)

    def add(self, values: list[Any], batch: Any, size: int) -> list[Any]:
        """What is logged for a batch that counts for `size` samples, for each part."""
        parts = self._parts(batch.weights is not None)
        counted = iter(values[len(parts) :])
        shown = []
        for i, part in enumerate(parts):
            value, count = _number(values[i]), 1
            if part.kind == LAST:
                self._sums[i], self._counts[i] = value, 1
            elif part.kind == ELEMENTS:
                count = part.count * batch.rows if isinstance(part.count, int) else next(counted)
                self._sums[i] = np.float32(self._sums[i] + value)
                self._counts[i] = np.float32(self._counts[i] + count)
            else:
                weight = size if part.kind == SAMPLES and not self._by_steps else 1
                self._sums[i] += float(value) * weight
                self._counts[i] += weight
            shown.append(value if part.kind == SAMPLES else self._mean(i))
        return shown

    def _mean(self, i: int) -> Any:
        if self._kinds[i] == SAMPLES:
            return self._sums[i] / self._counts[i]
        return np.float32(self._sums[i] / self._counts[i]) if self._counts[i] else np.float32(0)

    def results(self) -> list[Any]:
        """For each part, its mean over the pass."""
        return [self._mean(i) for i in range(len(self._kinds))]


def _number(value: Any) -> Any:
    return value if np.ndim(value) == 0 else np.mean(value)


def tensors_of(parts: list[Part]) -> list[Any]:
    """What a step computes: a value for each part, and the numbers of elements that are not known before."""
    return [part.tensor for part in parts] + [
        part.count for part in parts if part.kind == ELEMENTS and not isinstance(part.count, int)
    ]


def of_a_batch(parts: list[Part], values: list[Any], rows: int) -> list[Any]:
    """What a step reports of its batch alone, whose arrays have `rows`."""
    counted = iter(values[len(parts) :])
    found = []
    for part, value in zip(parts, values, strict=False):
        if part.kind == ELEMENTS:
            count = part.count * rows if isinstance(part.count, int) else next(counted)
            found.append(np.float32(value / np.float32(count)) if count else np.float32(0))
        else:
            found.append(value)
    return found
