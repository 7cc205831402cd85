"""Random ops: shapes, types, bounds and distributions of draws with fixed seeds."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from penstock import errors
from penstock.tensor.dtypes import as_dtype
from tests.ops.harness import OpCase

SEEDS = {"seed": 3, "seed2": 4}


def distance(draws: Any, cdf: Callable[[np.ndarray], np.ndarray]) -> float:
    """Kolmogorov and Smirnov's: the largest difference of the two distribution functions, times sqrt(n)."""
    ordered = np.sort(np.asarray(draws, np.float64).reshape(-1))
    steps = np.arange(len(ordered) + 1) / len(ordered)
    known = cdf(ordered)
    return float(np.maximum(steps[1:] - known, known - steps[:-1]).max() * math.sqrt(len(ordered)))


LIKELY = 1.95
"""Draws of the right distribution are farther away than this in one of a thousand seeds."""


def normal_cdf(x: Any) -> np.ndarray:
    return np.array([0.5 * (1 + math.erf(v / math.sqrt(2))) for v in np.asarray(x).reshape(-1)])


def cut_cdf(low: float, high: float, mean: float = 0, deviation: float = 1) -> Callable[[Any], np.ndarray]:
    """The distribution function of a normal cut to [low, high]."""
    below, above = normal_cdf([(low - mean) / deviation, (high - mean) / deviation])
    return lambda x: (normal_cdf((np.asarray(x) - mean) / deviation) - below) / (above - below)


def lower_gamma(alpha: float, x: float) -> float:
    """P(alpha, x), the gamma distribution function, by its series."""
    term = math.exp(alpha * math.log(x) - x - math.lgamma(alpha + 1))
    total = 0.0
    for n in range(1, 400):
        total += term
        term *= x / (alpha + n)
    return total


def sample_derivative(alpha: float, x: float) -> float:
    """d sample / d alpha at constant P(alpha, sample)."""
    eps = 1e-5
    change = (lower_gamma(alpha + eps, x) - lower_gamma(alpha - eps, x)) / (2 * eps)
    density = math.exp((alpha - 1) * math.log(x) - x - math.lgamma(alpha))
    return -change / density


def uniform_draws(shape: Any, draws: Any) -> None:
    assert draws.shape == tuple(shape)
    assert 0 <= draws.min() < draws.max() < 1
    loose = 20 if draws.dtype.itemsize == 2 else 1  # few values lie close together
    assert distance(draws, lambda x: x) < LIKELY * loose


def integer_draws(shape: Any, low: Any, high: Any, draws: Any) -> None:
    assert draws.shape == tuple(shape)
    counts = np.bincount(draws.reshape(-1) - low, minlength=high - low)
    assert len(counts) == high - low
    expected = draws.size / len(counts)
    assert ((counts - expected) ** 2 / expected).sum() < 30  # chi square with 9 degrees: 0.04% are above


def normal_draws(shape: Any, draws: Any) -> None:
    assert draws.shape == tuple(shape)
    draws = draws.astype(np.float64)
    assert abs(draws.mean()) < 0.01
    assert abs(draws.std() - 1) < 0.01
    assert distance(draws, normal_cdf) < LIKELY * (20 if draws.dtype.itemsize == 2 else 1)


def truncated_draws(shape: Any, draws: Any) -> None:
    assert draws.shape == tuple(shape)
    assert 1.99 < abs(draws.astype(np.float64)).max() <= 2
    if draws.dtype.itemsize > 2:
        assert distance(draws, cut_cdf(-2, 2)) < LIKELY


def shuffled(value: Any, draws: Any) -> None:
    assert draws.tolist() != value.tolist()
    assert sorted(map(str, draws.tolist())) == sorted(map(str, value.tolist()))


def cut_draws(shape: Any, means: Any, deviations: Any, lows: Any, highs: Any, draws: Any) -> None:
    assert draws.shape == tuple(shape)
    params = [np.broadcast_to(p, len(draws)) for p in (means, deviations, lows, highs)]
    for row, mean, deviation, low, high in zip(draws, *params, strict=True):
        assert low <= row.min() <= row.max() <= high
        if low > -10:
            assert distance(row, cut_cdf(low, high, mean, deviation)) < LIKELY
        else:
            assert distance((row - mean) / deviation, normal_cdf) < LIKELY


def categorical_draws(logits: Any, count: Any, draws: Any) -> None:
    assert draws.shape == (len(logits), count)
    for row, weights in zip(draws, np.asarray(logits, np.float64), strict=True):
        weights = np.where(np.isfinite(weights), np.exp(weights - weights[np.isfinite(weights)].max()), 0)
        frequency = np.bincount(row, minlength=len(weights)) / count
        np.testing.assert_allclose(frequency, weights / weights.sum(), atol=0.01)
        assert (frequency[weights == 0] == 0).all()


def gamma_draws(shape: Any, alpha: Any, draws: Any) -> None:
    assert draws.shape == (*shape, *alpha.shape)
    flat = draws.astype(np.float64).reshape(-1, alpha.size)
    for column, a in zip(flat.T, alpha.reshape(-1).astype(float), strict=True):
        assert abs(column.mean() / a - 1) < 0.03
        assert abs(column.var() / a - 1) < 0.06
        if draws.dtype.itemsize > 2:
            few = column[:2000]
            assert distance(few, lambda xs, a=a: np.array([lower_gamma(a, x) for x in xs])) < LIKELY


def poisson_draws(shape: Any, rate: Any, draws: Any) -> None:
    assert draws.shape == (*shape, *rate.shape)
    flat = draws.astype(np.float64).reshape(-1, rate.size)
    assert (flat == np.trunc(flat)).all()
    for column, r in zip(flat.T, rate.reshape(-1).astype(float), strict=True):
        assert abs(column.mean() / r - 1) < 0.03
        assert abs(column.var() / r - 1) < 0.06


def nothing(*values: Any) -> None:
    assert values[-1].size == 0


STATELESS = json.loads((Path(__file__).parent.parent / "data" / "stateless_draws.json").read_text("utf-8"))
"""What TensorFlow draws: tools/make_stateless_draws.py."""
SEED, OTHER = np.array([1, -(2**40)]), np.array([3, 4])


def recorded(name: str, dtype: str) -> np.ndarray:
    return np.array(STATELESS[f"{name} {dtype}"], as_dtype(dtype).as_numpy_dtype)


KEY, COUNTER = np.array([14729342517225745083], np.uint64), np.array([0, 2000906456664988534], np.uint64)
"""Of SEED."""
PHILOX = np.int32(1)
FULL = {
    "int32": [-1277803248, -742853659, 322269122],
    "int64": [-3190532168101772016, 1927714556947558338, -7087964563493494675],
    "uint32": [3017164048, 3552113637, 322269122],
    "uint64": [15256211905607779600, 1927714556947558338, 11358779510216056941],
}  # fmt: skip
"""What TensorFlow 2.21 draws."""

STATELESS_CASES = [
    OpCase("StatelessRandomGetKeyCounter", [SEED], ref=(KEY, COUNTER)),
    OpCase("StatelessRandomGetKeyCounterAlg", [SEED], ref=(KEY, COUNTER, PHILOX)),
    OpCase("StatelessRandomGetAlg", [], ref=PHILOX),
    *[
        OpCase(op, [[13], KEY, COUNTER, PHILOX], {"dtype": as_dtype(d)}, ref=recorded(name, d), note=d)
        for d in ("float16", "bfloat16", "float32", "float64")
        for op, name in (
            ("StatelessRandomUniformV2", "uniform"),
            ("StatelessRandomNormalV2", "normal"),
            ("StatelessTruncatedNormalV2", "truncated_normal"),
        )
    ],
    *[
        OpCase(
            "StatelessRandomUniformIntV2",
            [[5], KEY, COUNTER, np.int32(3), np.array(-5, d), np.array(100, d)],
            ref=np.array(drawn, d),
        )
        for d, drawn in (("int32", [68, 67, 72, 11, 32]), ("int64", [20, 73, 31, 43, 28]))
    ],
    *[
        OpCase(
            "StatelessRandomUniformFullIntV2",
            [[3], KEY, COUNTER, PHILOX],
            {"dtype": as_dtype(d)},
            ref=np.array(drawn, d),
            note=d,
        )
        for d, drawn in FULL.items()
    ],
    OpCase(
        "StatelessRandomUniformV2",
        [[2], KEY, COUNTER, np.int32(2)],
        raises=errors.InvalidArgumentError,
        match="Philox",
    ),
    *[
        OpCase(op, [[13], SEED], {"dtype": as_dtype(d)}, ref=recorded(name, d), note=d)
        for d in ("float16", "bfloat16", "float32", "float64")
        for op, name in (
            ("StatelessRandomUniform", "uniform"),
            ("StatelessRandomNormal", "normal"),
            ("StatelessTruncatedNormal", "truncated_normal"),
        )
    ],
    OpCase(
        "StatelessRandomUniformInt",
        [[7], OTHER.astype(np.int32), np.int32(-5), np.int32(100)],
        ref=recorded("uniform", "int32"),
    ),
    OpCase(
        "StatelessRandomUniformInt",
        [[2, 3], OTHER, np.int64(-5), np.int64(10**12)],
        ref=recorded("uniform", "int64"),
    ),
    OpCase(
        "StatelessRandomUniformInt",
        [[2], OTHER, np.int32(3), np.int32(3)],
        raises=errors.InvalidArgumentError,
        match="minval < maxval",
    ),
    OpCase(
        "StatelessMultinomial",
        [np.array([[0, 1, 2], [1, 1, 0]], np.float32), np.int32(6), OTHER],
        ref=np.array(STATELESS["multinomial"]),
    ),
]

MANY = [200, 500]

CASES = [
    *STATELESS_CASES,
    *[
        OpCase("RandomUniform", [MANY], {**SEEDS, "dtype": d}, check=uniform_draws, note=d)
        for d in ("float32", "float64", "float16", "bfloat16")
    ],
    OpCase("RandomUniform", [np.array(MANY, "i8")], {**SEEDS, "dtype": "float32"}, check=uniform_draws),
    OpCase("RandomUniform", [[0, 3]], {"dtype": "float32"}, check=nothing),
    OpCase("RandomUniform", [[-1]], {"dtype": "float32"}, raises=errors.InvalidArgumentError, match="negative"),
    *[OpCase("RandomUniformInt", [MANY, a(-3), a(7)], SEEDS, check=integer_draws) for a in (np.int32, np.int64)],
    OpCase(
        "RandomUniformInt",
        [[1000], np.int64(-(2**63)), np.int64(2**63 - 1)],
        SEEDS,
        check=lambda shape, low, high, draws: (
            np.testing.assert_array_less(1e18, draws.std(dtype=np.float64)),
            np.testing.assert_array_less(draws.min(), -8e18),
        ),
        note="widest",
    ),
    OpCase("RandomUniformInt", [[0], 3, 3], check=nothing, note="empty"),
    OpCase(
        "RandomUniformInt",
        [[2], 3, 3],
        raises=errors.InvalidArgumentError,
        match="Need minval < maxval, got 3 >= 3",
    ),
    *[
        OpCase("RandomStandardNormal", [MANY], {**SEEDS, "dtype": d}, check=normal_draws, note=d)
        for d in ("float32", "float64", "float16", "bfloat16")
    ],
    *[
        OpCase("TruncatedNormal", [MANY], {**SEEDS, "dtype": d}, check=truncated_draws, note=d)
        for d in ("float32", "float64", "float16", "bfloat16")
    ],
    *[
        OpCase(
            "ParameterizedTruncatedNormal",
            [[2, 20000], *(np.asarray(p, d) for p in ([1.0, -2.0], [2.0, 0.5], [0.0, -2.25], [4.0, -1.0]))],
            SEEDS,
            check=cut_draws,
            grad=False,
            note=d,
        )
        for d in ("float32", "float64")
    ],
    OpCase(
        "ParameterizedTruncatedNormal",
        [[1, 20000], *map(np.float64, (0, 1, 6, 7))],
        SEEDS,
        check=cut_draws,
        grad=False,
        note="tail",
    ),
    OpCase(
        "ParameterizedTruncatedNormal",
        [[1, 20000], *map(np.float64, (3, 2, -100, 100))],
        SEEDS,
        check=cut_draws,
        grad=False,
        note="whole",
    ),
    OpCase(
        "ParameterizedTruncatedNormal",
        [[1, 2], *map(np.float32, (0, -1, 0, 1))],
        raises=errors.InvalidArgumentError,
        match="Need stdevs > 0",
    ),
    *[
        OpCase("RandomShuffle", [np.arange(60).astype(d)], SEEDS, check=shuffled, grad=False, note=d)
        for d in ("float32", "int32", "uint8", "uint16", "uint32", "uint64", "complex64", "float16")
    ],
    OpCase("RandomShuffle", [[f"s{i}" for i in range(60)]], SEEDS, check=shuffled, note="strings"),
    OpCase("RandomShuffle", [np.arange(60).reshape(30, 2)], SEEDS, check=shuffled, note="rows"),
    OpCase("RandomShuffle", [np.float32(3)], ref=np.float32(3), grad=False, note="scalar"),
    OpCase("RandomShuffle", [np.zeros((0, 2), "i4")], check=nothing, note="empty"),
    *[
        OpCase(
            "Multinomial",
            [np.array([[0, 1, 2, 0], [5, 5, 5, 5]]).astype(d), np.int32(40000)],
            SEEDS,
            check=categorical_draws,
            grad=False,
            note=d,
        )
        for d in ("float32", "float64", "float16", "int32", "uint16")
    ],
    OpCase(
        "Multinomial",
        [np.array([[0, -np.inf, 1000, 999, np.nan]], "f4"), np.int32(40000)],
        {**SEEDS, "output_dtype": "int32"},
        check=categorical_draws,
        grad=False,
        note="not finite",
    ),
    OpCase("Multinomial", [np.zeros((3, 2), "f4"), np.int32(0)], check=nothing, grad=False, note="none"),
    OpCase(
        "Multinomial",
        [np.zeros((2, 0), "f4"), np.int32(1)],
        raises=errors.InvalidArgumentError,
        match="classes",
    ),
    *[
        OpCase(
            "RandomGamma",
            [[20000], np.array([[0.5, 1.0], [3.0, 20.0]], d)],
            SEEDS,
            check=gamma_draws,
            grad=False,
        )
        for d in ("float32", "float64", "float16")
    ],
    *[
        OpCase(
            "RandomGammaGrad",
            [np.array([0.5, 2.0, 7.5], d), np.array([[0.3, 1.0, 9.0], [2.0, 4.0, 3.0]], d)],
            ref=np.vectorize(sample_derivative),
            rtol=2e-3,
        )
        for d in ("float32", "float64")
    ],
    *[
        OpCase(
            "RandomPoissonV2",
            [[20000], np.array([0.5, 4, 100]).astype(d)],
            SEEDS,
            check=poisson_draws,
            note=d,
        )
        for d in ("float32", "float64", "float16")
    ],
    OpCase("RandomPoissonV2", [[20000], np.array([4, 100])], {**SEEDS, "dtype": "float32"}, check=poisson_draws),
    OpCase("RandomPoisson", [[20000], np.array([4, 100.0], "f4")], SEEDS, check=poisson_draws),
]
