"""Incomplete gamma functions, zeta, Bessel functions, quantiles, LU: against sums and quadratures."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from penstock import errors
from tests.ops.harness import OpCase
from tests.ops.nn_reference import randn

NAN, INF = np.nan, np.inf


def by_element(fn: Any) -> Any:
    return np.vectorize(fn, otypes=[np.float64])


def _simpson(f: Any, low: float, high: float) -> float:
    at = np.linspace(low, high, 20001)
    y = f(at)
    return float((y[0] + y[-1] + 4 * y[1:-1:2].sum() + 2 * y[2:-1:2].sum()) * (at[1] - at[0]) / 3)


@by_element
def lower_gamma(a: float, x: float) -> float:
    """The integral of t^(a-1) e^-t over [0, x], by t = u^4 so that it is smooth at 0 for a > 1/4."""
    return _simpson(lambda u: 4 * u ** (4 * a - 1) * np.exp(-(u**4)), 0, x**0.25) / math.gamma(a)


@by_element
def by_a(a: float, x: float) -> float:
    return float(lower_gamma(a + 1e-4, x) - lower_gamma(a - 1e-4, x)) / 2e-4


@by_element
def zeta(x: float, q: float) -> float:
    """Euler and Maclaurin's sum."""
    start = q + 2000
    rest = start ** (1 - x) / (x - 1) + start**-x / 2 + x * start ** (-x - 1) / 12
    return float(((q + np.arange(2000.0)) ** -x).sum() + rest)


def bessel(order: int) -> Any:
    """e^-|x| I(x) as the mean of e^(x cos t) cos(order t) over half a turn."""
    return by_element(
        lambda x: _simpson(lambda t: np.exp(x * np.cos(t) - abs(x)) * np.cos(order * t), 0, math.pi) / math.pi
    )


@by_element
def erf_inverse(x: float) -> float:
    return NormalDist().inv_cdf((x + 1) / 2) / math.sqrt(2)


def _check_lu(x: Any, lu: Any, p: Any) -> None:
    lower, upper = np.tril(lu, -1) + np.eye(x.shape[-1]), np.triu(lu)
    rows = np.take_along_axis(x, p[..., None].astype(int), -2)
    np.testing.assert_allclose(lower @ upper, rows, rtol=1e-4, atol=1e-5)
    assert (np.abs(np.tril(lu, -1)) <= 1).all() or np.iscomplexobj(lu)


A = np.array([0.5, 1.0, 2.5, 5.0, 1.5, 30.0])
X = np.array([0.3, 1.0, 2.0, 11.0, 40.0, 25.0])
SMALL = np.array([-3.0, -0.5, 0.0, 0.4, 2.5, 9.0])
UNIT = np.array([0.02, 0.3, 0.5, 0.61, 0.97])
MATRICES = randn(2, 4, 4)
BAD = errors.InvalidArgumentError

CASES = [
    OpCase("Igamma", [A, X], {}, lower_gamma, rtol=1e-7),
    OpCase("Igamma", [A[:, None], X[:2]], {}, lower_gamma, rtol=1e-6),
    OpCase("Igamma", [A.astype(np.float32), X.astype(np.float32)], {},
           lambda a, x: lower_gamma(a, x).astype(np.float32), grad=False),
    OpCase("Igamma", [np.array([1.0, 1, 0, -1, 2, NAN]), np.array([0.0, INF, 1, 1, -1, 1])], {},
           np.array([0, 1, NAN, NAN, NAN, NAN]), grad=False),
    OpCase("Igammac", [A, X], {}, lambda a, x: 1 - lower_gamma(a, x), atol=1e-8),
    OpCase("Igammac", [np.float64(2), np.array([0.5, 3.0])], {}, lambda a, x: (1 + x) * np.exp(-x), grad=False),
    OpCase("Igammac", [np.array([1.0, 1, 0, -1, 2]), np.array([0.0, INF, 1, 1, -1])], {},
           np.array([1, 0, NAN, NAN, NAN]), grad=False),
    OpCase("IgammaGradA", [A[:5], X[:5]], {}, by_a, rtol=1e-5, atol=1e-7),
    OpCase("IgammaGradA", [np.float64(2), np.array([0.0, INF, -1, NAN])], {}, np.array([0, 0, NAN, NAN])),
    OpCase("Zeta", [np.array([1.1, 2.0, 3.5, 2.0]), np.array([1.0, 2.5, 0.1, 10.0])], {}, zeta, grad=False, rtol=1e-9),
    OpCase("Zeta", [np.array([[2.0], [4.0]]), np.array([1.0, 1.0])], {},
           np.array([[math.pi**2 / 6] * 2, [math.pi**4 / 90] * 2]), grad=False, rtol=1e-9),
    OpCase("Zeta", [np.array([1.0, 0.5, 2, 3, 2.5]), np.array([1.0, 1, -1, 0, -0.5])], {},
           np.array([INF, NAN, INF, NAN, NAN]), grad=False),
    OpCase("BesselI0e", [SMALL[SMALL != 0]], {}, bessel(0), rtol=1e-9),
    OpCase("BesselI0e", [SMALL], {}, bessel(0), rtol=1e-9, grad=False, note="at 0"),
    OpCase("BesselI0e", [SMALL.astype(np.float32)], {}, lambda x: bessel(0)(x).astype(np.float32), grad=False),
    OpCase("BesselI1e", [SMALL], {}, bessel(1), rtol=1e-9, atol=1e-12, grad=False),
    OpCase("BesselI1e", [SMALL[SMALL != 0]], {}, bessel(1), rtol=1e-9),
    OpCase("BesselI1e", [np.array([1e3, -1e3, INF])], {},
           np.array([1, -1, 0]) * (1 - 3 / 8e3) / math.sqrt(2 * math.pi * 1e3), grad=False),
    OpCase("Erfinv", [UNIT * 2 - 1], {}, erf_inverse, atol=1e-9),
    OpCase("Erfinv", [np.array([-1.0, 0, 1, 1.5, NAN])], {}, np.array([-INF, 0, INF, NAN, NAN]), grad=False),
    OpCase("Ndtri", [UNIT], {}, by_element(NormalDist().inv_cdf), rtol=1e-7, atol=1e-9),
    OpCase("Ndtri", [UNIT.astype(np.float16)], {},
           lambda x: by_element(NormalDist().inv_cdf)(x).astype(np.float16), grad=False),
    OpCase("Ndtri", [np.array([0.0, 1, -0.1, 2, NAN])], {}, np.array([-INF, INF, NAN, NAN, NAN]), grad=False),
    OpCase("Lu", [MATRICES], check=_check_lu),
    OpCase("Lu", [MATRICES.astype(np.float64)[0]], {"output_idx_type": "int64"}, check=_check_lu),
    OpCase("Lu", [MATRICES + 1j * randn(2, 4, 4, seed=1)], check=_check_lu),
    OpCase("Lu", [np.zeros((2, 0, 0))], {}, (np.zeros((2, 0, 0)), np.zeros((2, 0), np.int32))),
    OpCase("Lu", [np.ones((2, 2))], raises=BAD, match="not invertible"),
    OpCase("Lu", [np.ones((2, 3))], raises=ValueError, match="square"),
]  # fmt: skip
