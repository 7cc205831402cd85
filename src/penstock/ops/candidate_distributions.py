"""Distributions of classes, and drawing from them, for the ops of candidate_sampling.py."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import torch

from penstock import gfile
from penstock.ops.kernel_tools import invalid
from penstock.ops.philox import longs, unit_doubles
from penstock.runtime.kernels import KernelContext
from penstock.runtime.philox import Numbers, Stream

# --- numbers --------------------------------------------------------------------------------------------


class Source(Protocol):
    """Where a sampler's random numbers come from."""

    def integers(self, size: int, count: int) -> np.ndarray:
        """Of 0, …, size - 1: int64 [count]."""

    def doubles(self, count: int) -> np.ndarray:
        """In [0, 1): float64 [count]."""


class OfTorch:
    """The numbers of a node without seeds."""

    def __init__(self, generator: torch.Generator) -> None:
        self._generator = generator

    def integers(self, size: int, count: int) -> np.ndarray:
        return torch.randint(size, (count,), generator=self._generator).numpy()

    def doubles(self, count: int) -> np.ndarray:
        return torch.rand(count, generator=self._generator, dtype=torch.float64).numpy()


class OfTensorFlow:
    """The numbers that TensorFlow draws in one run of a node with seeds."""

    def __init__(self, stream: Stream) -> None:
        self._numbers = Numbers(stream=stream)

    def integers(self, size: int, count: int) -> np.ndarray:
        # TensorFlow rejects draws that would make some more likely: of 2**64, none that anybody will see.
        return (longs(self._pairs(count)) % np.uint64(size)).astype(np.int64)

    def doubles(self, count: int) -> np.ndarray:
        return unit_doubles(self._pairs(count))

    def _pairs(self, count: int) -> np.ndarray:
        return self._numbers.take(2 * count).reshape(count, 2)


# --- distributions --------------------------------------------------------------------------------------


class Distribution(Protocol):
    """Classes 0, …, size - 1 and their probabilities, `possible` of which are nonzero.

    Other classes have the probability that TensorFlow's formula gives: none where it looks them up in a table.
    """

    size: int
    possible: int

    def draw(self, count: int, numbers: Source) -> np.ndarray: ...

    def probability(self, classes: np.ndarray) -> np.ndarray: ...

    def learn(self, classes: np.ndarray) -> None: ...


class Uniform:
    """All classes equally likely."""

    def __init__(self, size: int) -> None:
        self.size = self.possible = size

    def draw(self, count: int, numbers: Source) -> np.ndarray:
        return numbers.integers(self.size, count)

    def probability(self, classes: np.ndarray) -> np.ndarray:
        return np.full(classes.shape, 1 / self.size)

    def learn(self, classes: np.ndarray) -> None:
        pass


class LogUniform(Uniform):
    """Class c with probability log((c + 2) / (c + 1)) / log(size + 1): like word frequencies by rank."""

    def draw(self, count: int, numbers: Source) -> np.ndarray:
        return (np.exp(numbers.doubles(count) * math.log1p(self.size)).astype(np.int64) - 1) % self.size

    def probability(self, classes: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):  # of negative ones
            return np.log((classes + 2.0) / (classes + 1.0)) / math.log1p(self.size)


class Weighted:
    """Classes in proportion to their weights."""

    def __init__(self, weights: np.ndarray) -> None:
        self.size = len(weights)
        self.weights = weights.astype(np.float64)
        self.possible = int(np.count_nonzero(self.weights))
        self.upto: np.ndarray | None = None

    def draw(self, count: int, numbers: Source) -> np.ndarray:
        if self.upto is None:
            self.upto = self.weights.cumsum()
        drawn = numbers.doubles(count) * self.upto[-1]
        return np.minimum(self.upto.searchsorted(drawn, side="right"), self.size - 1)

    def probability(self, classes: np.ndarray) -> np.ndarray:
        there = (classes >= 0) & (classes < self.size)
        return np.where(there, self.weights[np.where(there, classes, 0)], 0) / self.weights.sum()

    def learn(self, classes: np.ndarray) -> None:
        pass


class Learned(Weighted):
    """Classes in proportion to how often they have been true so far, starting from one each."""

    def __init__(self, size: int) -> None:
        super().__init__(np.ones(size))

    def probability(self, classes: np.ndarray) -> np.ndarray:
        if classes.size and not (classes.min() >= 0 and classes.max() < self.size):
            # TensorFlow would read and count beyond its table.
            raise invalid(f"true_classes must be in [0, {self.size}), got {classes.min()} to {classes.max()}")
        return super().probability(classes)

    def learn(self, classes: np.ndarray) -> None:
        np.add.at(self.weights, classes, 1)
        self.upto = None


def fixed_weights(ctx: KernelContext) -> np.ndarray:
    """The weights of a FixedUnigramCandidateSampler: reserved classes have none."""
    path, unigrams = ctx.text("vocab_file"), ctx["unigrams"]
    if bool(path) == bool(unigrams):
        raise invalid("Must provide exactly one of vocab_file and unigrams")
    if ctx["shard"] >= ctx["num_shards"]:
        raise invalid(f"shard must be below num_shards, got shard {ctx['shard']} of {ctx['num_shards']}")
    found = [_last_number(line) for line in _lines(path)] if path else list(unigrams)
    found = [0.0] * ctx["num_reserved_ids"] + [weight ** ctx["distortion"] for weight in found]
    mine = np.array(found[ctx["shard"] :: ctx["num_shards"]], np.float32)
    if len(mine) != ctx["range_max"]:
        raise invalid(f"range_max is {ctx['range_max']}, but there are weights of {len(mine)} classes")
    return mine


def _lines(path: str) -> list[str]:
    with gfile.GFile(path) as file:
        return file.read().splitlines()


def _last_number(line: str) -> float:
    try:
        return float(line.split(",")[-1])
    except ValueError:
        raise invalid(f"Wrong vocabulary format at line: {line}") from None


# --- drawing --------------------------------------------------------------------------------------------


def expected_counts(probability: np.ndarray, count: int, tries: int) -> torch.Tensor:
    """The expected count of a class among `count` draws, or among distinct ones that took `tries` draws."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = probability * count if tries == count else -np.expm1(tries * np.log1p(-probability))
    return torch.from_numpy(np.asarray(found, np.float32))


def _distinct(distribution: Distribution, count: int, numbers: Source) -> tuple[np.ndarray, int]:
    """Draws until there are `count` different classes; returns these and the number of draws."""
    places: dict[int, int] = {}
    tries = 0
    while len(places) < count:
        for one in distribution.draw(max(count - len(places), tries // 4), numbers).tolist():
            tries += 1
            places.setdefault(one, tries)
            if len(places) == count:
                break
    return np.fromiter(places, np.int64, count), tries


def sample(
    distribution: Distribution, count: int, unique: bool, true_classes: np.ndarray, numbers: Source
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The outputs of a sampling op; the distribution then learns the true classes."""
    if unique:
        drawn, tries = _distinct(distribution, count, numbers)
    else:
        drawn, tries = distribution.draw(count, numbers), count
    of_true = expected_counts(distribution.probability(true_classes), count, tries)
    of_drawn = expected_counts(distribution.probability(drawn), count, tries)
    distribution.learn(true_classes.reshape(-1))
    return torch.from_numpy(drawn), of_true, of_drawn
