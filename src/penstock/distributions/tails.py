"""Tails of the normal and the Laplace distribution, precise where probabilities are tiny."""

from __future__ import annotations

import math

import numpy as np

from penstock.graph.operation import Tensor
from penstock.ops.arithmetic import maximum, minimum
from penstock.ops.array import shape
from penstock.ops.compare import logical_or
from penstock.ops.filling import fill
from penstock.ops.partition import where
from penstock.ops.passing import stop_gradient
from penstock.ops.special import erfc
from penstock.ops.special_bessel import ndtri
from penstock.ops.unary import exp, log, log1p, square


def ndtr(x: Tensor) -> Tensor:
    """P(X <= x) of the standard normal."""
    return 0.5 * erfc(-math.sqrt(0.5) * x)


def log_ndtr(x: Tensor) -> Tensor:
    """log P(X <= x) of the standard normal, even far in its lower tail, by the asymptotic series of Mills' ratio."""
    single = x.dtype.base_dtype.name != "float64"
    lower, upper = (-10.0, 5.0) if single else (-20.0, 8.0)
    # The branch that is not chosen is also computed, so it must be finite, for the gradient as well.
    middle = log(ndtr(maximum(x, np.array(lower, x.dtype.np))))
    far = minimum(x, np.array(lower, x.dtype.np))
    inverse = 1.0 / square(far)
    series = 1.0 - inverse * (1.0 - 3.0 * inverse * (1.0 - 5.0 * inverse * (1.0 - 7.0 * inverse)))
    tail = -0.5 * square(far) - log(-far) - 0.5 * math.log(2 * math.pi) + log(series)
    return where(x > upper, -ndtr(-x), where(x > lower, middle, tail))


def log_cdf_laplace(x: Tensor) -> Tensor:
    """log P(X <= x) of the standard Laplace distribution."""
    below = minimum(x, np.array(0, x.dtype.np))
    above = maximum(x, np.array(0, x.dtype.np))
    return where(x < 0.0, below - math.log(2.0), log1p(-0.5 * exp(-above)))


def finite_ndtri(p: Tensor) -> Tensor:
    """The quantile function of the standard normal: infinite at 0 and 1, but with a finite gradient (0) there."""
    outside = logical_or(p <= 0.0, p >= 1.0)
    inside = ndtri(where(outside, fill(shape(p), np.array(0.5, p.dtype.np)), p))
    return where(outside, stop_gradient(ndtri(p)), inside)
