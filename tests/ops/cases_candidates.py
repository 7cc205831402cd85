"""Cases of candidate samplers: expected counts are exact, the draws are checked for what must hold of any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.errors import InvalidArgumentError
from tests.ops.harness import OpCase

TRUE = np.array([[0, 3], [7, 9], [3, 3]], np.int64)
SOME = {"num_true": 2, "num_sampled": 4, "range_max": 10, "seed": 1}
LOWEST = np.finfo(np.float32).min


def uniform(classes: np.ndarray) -> np.ndarray:
    return np.full(classes.shape, 0.1)


def log_uniform(classes: np.ndarray) -> np.ndarray:
    return np.log((classes + 2) / (classes + 1)) / np.log(11)


WEIGHTS = np.array([0, 0, 1, 2, 3, 4, 5, 6, 7, 8])


def weighted(classes: np.ndarray) -> np.ndarray:
    return np.sqrt(WEIGHTS)[classes] / np.sqrt(WEIGHTS).sum()


def with_repeats(probability: Callable[[np.ndarray], np.ndarray]) -> Callable[..., None]:
    """The checks of a sampler that may draw a class twice: 4 draws of probability p expect 4 p."""

    def check(true: np.ndarray, drawn: np.ndarray, of_true: np.ndarray, of_drawn: np.ndarray) -> None:
        assert drawn.shape == (4,) and drawn.min() >= 0 and drawn.max() < 10
        np.testing.assert_allclose(of_true, 4 * probability(true), rtol=1e-5)
        np.testing.assert_allclose(of_drawn, 4 * probability(drawn), rtol=1e-5)

    return check


def without_repeats(probability: Callable[[np.ndarray], np.ndarray]) -> Callable[..., None]:
    """4 different classes that took some number of draws, which all expectations agree on."""

    def check(true: np.ndarray, drawn: np.ndarray, of_true: np.ndarray, of_drawn: np.ndarray) -> None:
        assert len(set(drawn.tolist())) == 4

        def expected(classes: np.ndarray, tries: int) -> Any:
            p = probability(classes)
            return 4 * p if tries == 4 else 1 - (1 - p) ** tries

        fitting = [n for n in range(4, 200) if np.allclose(of_drawn, expected(drawn, n), rtol=1e-4)]
        assert fitting
        np.testing.assert_allclose(of_true, expected(true, fitting[0]), rtol=1e-4)

    return check


def sampler_cases(op: str, probability: Callable[[np.ndarray], np.ndarray], **attrs: Any) -> list[OpCase]:
    attrs = {**SOME, **attrs}
    return [
        OpCase(op, [TRUE], {**attrs, "unique": False}, check=with_repeats(probability)),
        OpCase(op, [TRUE], {**attrs, "unique": True}, check=without_repeats(probability)),
        OpCase(op, [TRUE], {**attrs, "unique": True, "num_sampled": 11}, raises=InvalidArgumentError, match="small"),
        OpCase(op, [TRUE[:, :1]], {**attrs, "unique": True}, raises=ValueError),
    ]


UNIGRAMS = {"unigrams": [float(w) for w in WEIGHTS[2:]], "num_reserved_ids": 2, "distortion": 0.5}
TOO_FEW = {**SOME, "unique": True, "unigrams": [1.0] * 9}
HITS = "ComputeAccidentalHits"

CASES: list[OpCase] = [
    *sampler_cases("UniformCandidateSampler", uniform),
    *sampler_cases("LogUniformCandidateSampler", log_uniform),
    *sampler_cases("LearnedUnigramCandidateSampler", uniform),
    *sampler_cases("ThreadUnsafeUnigramCandidateSampler", uniform),
    *sampler_cases("FixedUnigramCandidateSampler", weighted, **UNIGRAMS),
    OpCase("FixedUnigramCandidateSampler", [TRUE], TOO_FEW, raises=InvalidArgumentError, match="weights of 9"),
    OpCase("FixedUnigramCandidateSampler", [TRUE], {**SOME, "unique": True}, raises=InvalidArgumentError, match="one"),
    OpCase("LearnedUnigramCandidateSampler", [TRUE + 5], {**SOME, "unique": True}, raises=InvalidArgumentError,
           match=r"\[0, 10\)"),
    OpCase("UniformCandidateSampler", [np.array([[0]])], {"num_true": 1, "num_sampled": 1, "range_max": 1,
           "unique": True}, ref=(np.array([0]), np.ones((1, 1), np.float32), np.ones(1, np.float32))),
    OpCase("AllCandidateSampler", [TRUE], {"num_true": 2, "num_sampled": 10, "unique": True},
           (np.arange(10), np.ones((3, 2), np.float32), np.ones(10, np.float32))),
    OpCase("AllCandidateSampler", [TRUE], {"num_true": 2, "num_sampled": 9, "unique": True},
           (np.arange(9), np.ones((3, 2), np.float32), np.ones(9, np.float32)), note="a class beyond the range"),
    OpCase(HITS, [TRUE, np.array([3, 1, 9, 3, 5])], {"num_true": 2},
           (np.array([0, 1, 2, 2], np.int32), np.array([3, 2, 3, 3]), np.full(4, LOWEST)), note="the last draw counts"),
    OpCase(HITS, [TRUE, np.array([1, 2])], {"num_true": 2},
           (np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.float32))),
    OpCase(HITS, [TRUE, np.array([[1, 2]])], {"num_true": 2}, raises=ValueError),
    OpCase(HITS, [TRUE, np.array([1, 2])], {"num_true": 1}, raises=ValueError),
]  # fmt: skip
