"""The incomplete gamma functions and Hurwitz's zeta (TF: tf.igamma, tf.igammac, tf.zeta)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.traits import SERIAL
from penstock.ops.arithmetic import ADD_V2, MUL, SUB
from penstock.ops.elementwise import like, unbroadcast
from penstock.ops.kernel_tools import via_numpy
from penstock.ops.special import LGAMMA
from penstock.ops.special_binary import XLOGY
from penstock.ops.unary import EXP
from penstock.runtime.kernels import KernelContext

_A_AND_X = "a: T, x: T"
IGAMMA = define_op("Igamma", _A_AND_X, "z: T", attrs=["T: floattype"], shape=shape_rules.broadcast, work=512.0)
IGAMMAC = define_op("Igammac", _A_AND_X, "z: T", attrs=["T: floattype"], shape=shape_rules.broadcast, work=512.0)
IGAMMA_GRAD_A = define_op(
    "IgammaGradA", _A_AND_X, "z: T", attrs=["T: {float, double}"], shape=shape_rules.broadcast, work=SERIAL
)
IGAMMA_GRAD_A.not_differentiable()


@IGAMMA.kernel()
def igamma_kernel(ctx: KernelContext) -> Kernel:
    """torch returns a limit at a = 0, and none at (inf, inf); TensorFlow returns NaN and 0 there, and 0 at x = 0."""

    def igamma(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        found = torch.where((a > 0) & (x == x), torch.special.gammainc(a, x), torch.nan)
        return torch.where((x == 0) | ((a == torch.inf) & (x >= 0)), 0, found)

    return igamma


@IGAMMAC.kernel()
def igammac_kernel(ctx: KernelContext) -> Kernel:
    def igammac(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        found = torch.where((a > 0) & (x == x), torch.special.gammaincc(a, x), torch.nan)
        return torch.where((x == torch.inf) & (a > 0), 0, found)

    return igammac


# --- the derivative by a --------------------------------------------------------------------------------

_TERMS = 2000


def _derivative_of_log_gamma(a: np.ndarray) -> np.ndarray:
    return torch.digamma(torch.from_numpy(np.ascontiguousarray(a))).numpy()


def _density(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """x^a e^-x / Gamma(a + 1)."""
    gamma = torch.lgamma(torch.from_numpy(np.ascontiguousarray(a + 1))).numpy()
    return np.exp(a * np.log(x) - x - gamma)


def _by_series(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """igamma is the density times 1 + x/(a+1) + x^2/((a+1)(a+2)) + …; each term is differentiated along with its
    value."""
    term, slope = np.ones_like(x), np.zeros_like(x)
    total, total_slope = term.copy(), slope.copy()
    for k in range(1, _TERMS):
        slope = (slope - term / (a + k)) * x / (a + k)
        term = term * x / (a + k)
        total += term
        total_slope += slope
        if np.all(np.abs(slope) <= 1e-17 * np.abs(total_slope)) and np.all(term <= 1e-17 * total):
            break
    return _density(a, x) * (total * (np.log(x) - _derivative_of_log_gamma(a + 1)) + total_slope)


def _by_fraction(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """igammac is a times the density times a continued fraction f (Lentz's method), differentiated along with its
    value."""
    b = x + 1 - a
    c, d = np.full_like(x, 1e100), 1 / b
    c_slope, d_slope = np.zeros_like(x), d * d
    f, f_slope = d.copy(), d_slope.copy()
    for k in range(1, _TERMS):
        step = -k * (k - a)
        b = b + 2
        d_slope = -(k * d + step * d_slope - 1) / (step * d + b) ** 2
        d = 1 / (step * d + b)
        c_slope = k / c - step * c_slope / c**2 - 1
        c = b + step / c
        factor, factor_slope = c * d, c_slope * d + c * d_slope
        f_slope = f_slope * factor + f * factor_slope
        f = f * factor
        if np.all(np.abs(factor - 1) < 1e-15) and np.all(np.abs(factor_slope * f) <= 1e-15 * np.abs(f_slope)):
            break
    return -_density(a, x) * a * (f * (np.log(x) - _derivative_of_log_gamma(a)) + f_slope)


def igamma_grad_a(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """d igamma(a, x) / da. 0 at both ends of x; NaN unless a > 0 and x >= 0."""
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    found = np.where(((a > 0) & (x >= 0)) | (x == 0), 0.0, np.nan)
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    for part, fn in ((inside & (x <= a + 1), _by_series), (inside & (x > a + 1), _by_fraction)):
        if part.any():
            found[part] = fn(a[part], x[part])
    return found


IGAMMA_GRAD_A.kernel("CPU")(lambda n: via_numpy(igamma_grad_a, n["T"]))


def _igamma_gradients(op: Operation, grad: Tensor) -> list[Any]:
    a, x = op._inputs
    density = EXP(SUB(SUB(XLOGY(SUB(a, like(1, a)), x), x), LGAMMA(a)))
    return unbroadcast(op, MUL(grad, IGAMMA_GRAD_A(a, x)), MUL(grad, density))


@IGAMMA.gradient
def igamma_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return _igamma_gradients(op, grad)


@IGAMMAC.gradient
def igammac_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return _igamma_gradients(op, -grad)


# --- zeta -----------------------------------------------------------------------------------------------

ZETA = define_op("Zeta", "x: T, q: T", "z: T", attrs=["T: {float, double}"], shape=shape_rules.broadcast, work=64.0)


@ZETA.kernel()
def zeta_kernel(ctx: KernelContext) -> Kernel:
    def zeta(x: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
        """Like torch's, except that for q at a pole, odd x return NaN, because the two sides differ in sign."""
        pole = (q <= 0) & (q == q.floor())
        odd = (x % 2 != 0) & (x < torch.inf)
        found = torch.where((pole & (x > 1) & odd) | x.isnan(), torch.nan, torch.special.zeta(x, q))
        return torch.where(((x == torch.inf) & (q > 1)) | ((x > 1) & (q == torch.inf)), 0, found)

    return zeta


@ZETA.gradient
def zeta_gradient(op: Operation, grad: Tensor) -> list[Any]:
    """Only with respect to q, as in TensorFlow."""
    x, q = op._inputs
    by_q = MUL(-x, ZETA(ADD_V2(x, like(1, x)), q))
    return [None, unbroadcast(op, None, MUL(grad, by_q))[1]]


# --- functions ------------------------------------------------------------------------------------------


@export("igamma", "math.igamma")
def igamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The lower regularised incomplete gamma function P(a, x), for a > 0 and x >= 0, otherwise NaN (TF: tf.igamma)."""
    return IGAMMA(a, x, name=name)


@export("igammac", "math.igammac")
def igammac(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The upper one, Q(a, x) = 1 - P(a, x), exact where that is small (TF: tf.igammac)."""
    return IGAMMAC(a, x, name=name)


@export("zeta", "math.zeta")
def zeta(x: Any, q: Any, name: str | None = None) -> Tensor:
    """Hurwitz's zeta function: the sum of (q + n) to the -x over n = 0, 1, … for x > 1 (TF: tf.zeta)."""
    return ZETA(x, q, name=name)
