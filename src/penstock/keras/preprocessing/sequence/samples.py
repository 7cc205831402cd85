"""Samples of sequences: pairs of words that are near each other, windows of time series."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from penstock.export import export
from penstock.keras.utils.arrays import Sequence


@export("keras.preprocessing.sequence.make_sampling_table")
def make_sampling_table(size: int, sampling_factor: float = 1e-5) -> np.ndarray:
    """For each word, by how common it is, the probability to sample it: the commonest words are sampled rarely.

    Word i is taken to occur as often as Zipf's law says; 0.577 is Euler's constant.
    """
    rank = np.maximum(np.arange(size), 1).astype(float)
    frequency = sampling_factor * (rank * (np.log(rank) + 0.577) + 0.5 - 1.0 / (12.0 * rank))
    return np.minimum(1.0, np.sqrt(frequency))


@export("keras.preprocessing.sequence.skipgrams")
def skipgrams(
    sequence: Any,
    vocabulary_size: int,
    window_size: int = 4,
    negative_samples: float = 1.0,
    shuffle: bool = True,
    categorical: bool = False,
    sampling_table: Any = None,
    seed: int | None = None,
) -> tuple[list[list[int]], list[Any]]:
    """Pairs of words, and whether they are near each other: all that are, and random pairs. Word 0 is none.

    negative_samples: how many random pairs for each near one. sampling_table: the probability to take a word.
    """
    yes: Any = [0, 1] if categorical else 1
    no: Any = [1, 0] if categorical else 0
    couples: list[list[int]] = []
    for i, word in enumerate(sequence):
        if not word or (sampling_table is not None and sampling_table[word] < random.random()):
            continue
        near = [*sequence[max(0, i - window_size) : i], *sequence[i + 1 : i + window_size + 1]]
        couples += [[word, other] for other in near if other]
    labels = [yes] * len(couples)
    if negative_samples > 0 and couples:
        count = int(len(couples) * negative_samples)
        words = [couple[0] for couple in couples]
        random.shuffle(words)
        couples += [[words[i % len(words)], random.randint(1, vocabulary_size - 1)] for i in range(count)]
        labels += [no] * count
    if shuffle:
        seed = random.randint(0, 10_000_000) if seed is None else seed
        for values in (couples, labels):
            random.Random(seed).shuffle(values)
    return couples, labels


@export("keras.preprocessing.sequence.TimeseriesGenerator")
class TimeseriesGenerator(Sequence):
    """Batches of windows of `length` steps, and of what follows them: `targets` at the step after the window.

    sampling_rate: take every so many steps of a window. stride: from a window to the next. reverse: latest step first.
    """

    def __init__(
        self,
        data: Any,
        targets: Any,
        length: int,
        sampling_rate: int = 1,
        stride: int = 1,
        start_index: int = 0,
        end_index: int | None = None,
        shuffle: bool = False,
        reverse: bool = False,
        batch_size: int = 128,
    ) -> None:
        if len(data) != len(targets):
            raise ValueError(
                f"Data and targets have to be of same length. Data length is {len(data)} while target length is "
                f"{len(targets)}"
            )
        self.data, self.targets, self.length = data, targets, length
        self.sampling_rate, self.stride, self.batch_size = sampling_rate, stride, batch_size
        self.start_index = start_index + length
        self.end_index = len(data) - 1 if end_index is None else end_index
        self.shuffle, self.reverse = shuffle, reverse
        if self.start_index > self.end_index:
            raise ValueError(
                f"`start_index+length={self.start_index} > end_index={self.end_index}` is disallowed, as no part of "
                "the sequence would be left to be used as current step."
            )

    def __len__(self) -> int:
        step = self.batch_size * self.stride
        return (self.end_index - self.start_index + step) // step

    def __getitem__(self, index: int) -> Any:
        if self.shuffle:
            rows = np.random.randint(self.start_index, self.end_index + 1, self.batch_size)
        else:
            first = self.start_index + self.batch_size * self.stride * index
            end = min(first + self.batch_size * self.stride, self.end_index + 1)
            rows = np.arange(first, end, self.stride)
        samples = np.array([self.data[row - self.length : row : self.sampling_rate] for row in rows])
        return samples[:, ::-1] if self.reverse else samples, np.array([self.targets[row] for row in rows])
