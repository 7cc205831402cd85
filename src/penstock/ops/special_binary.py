"""Products and quotients that are zero where one factor is, and other functions of two or three numbers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch

from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, OpDef, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.elementwise import conjugate, sum_to, unbroadcast
from penstock.ops.kernel_tools import invalid, via_numpy
from penstock.ops.reduce import reduce_sum
from penstock.tensor.shapes import TensorShape, broadcast_shape

_FLOATS = "{half, bfloat16, float, double, complex64, complex128}"


def _binary(name: str, fn: Kernel, types: str = _FLOATS) -> OpDef:
    op = define_op(name, "x: T, y: T", "z: T", attrs=[f"T: {types}"], shape=shape_rules.broadcast, work=16.0)
    op.kernel()(lambda n: fn)
    return op


def _zero_where(x: torch.Tensor, found: torch.Tensor) -> torch.Tensor:
    return torch.where(x == 0, torch.zeros((), dtype=found.dtype, device=found.device), found)


XDIVY = _binary("Xdivy", lambda x, y: _zero_where(x, x / y))
XLOGY = _binary("Xlogy", lambda x, y: _zero_where(x, x * y.log()))
XLOG1PY = _binary("Xlog1py", lambda x, y: _zero_where(x, x * torch.log1p(y)))
MUL_NO_NAN = _binary(
    "MulNoNan", lambda x, y: _zero_where(y, x * y), "{bfloat16, half, float, double, complex64, complex128}"
)


def _present(x: Tensor) -> Tensor:
    """1 where x is not zero."""
    return get_op("Cast")(get_op("NotEqual")(x, get_op("ZerosLike")(x)), DstT=x.dtype)


@XDIVY.gradient
def xdivy_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    by_x, by_y = XDIVY(_present(x), y), XDIVY(-x, y * y)
    return unbroadcast(op, conjugate(by_x) * grad, conjugate(by_y) * grad)


@XLOGY.gradient
def xlogy_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    return unbroadcast(op, conjugate(XLOGY(_present(x), y)) * grad, conjugate(XDIVY(x, y)) * grad)


@XLOG1PY.gradient
def xlog1py_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    one = get_op("OnesLike")(y)
    return unbroadcast(op, conjugate(XLOG1PY(_present(x), y)) * grad, conjugate(XDIVY(x, y + one)) * grad)


@MUL_NO_NAN.gradient
def mul_no_nan_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    return unbroadcast(op, MUL_NO_NAN(grad, conjugate(y)), MUL_NO_NAN(conjugate(x), grad))


NEXT_AFTER = define_op("NextAfter", "x1: T, x2: T", "output: T", attrs=["T: {double, float} = float"], work=4.0)
NEXT_AFTER.shape(shape_rules.broadcast)
NEXT_AFTER.kernel()(lambda n: torch.nextafter)


@NEXT_AFTER.gradient
def next_after_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [sum_to(grad, op.inputs[0]), get_op("ZerosLike")(op.inputs[1])]


# --- the incomplete beta function -----------------------------------------------------------------------

BETAINC = define_op("Betainc", "a: T, b: T, x: T", "z: T", attrs=["T: {float, double}"], work=SERIAL)


@BETAINC.shape
def betainc_shape(c: ShapeContext, a: TensorShape, b: TensorShape, x: TensorShape) -> TensorShape:
    """All have the same shape, except scalars."""
    found = TensorShape([])
    for shape in (a, b, x):
        if shape.ndims is None:
            return TensorShape(None)
        if shape.ndims and found.ndims:
            found = found.merge_with(shape)
        elif shape.ndims:
            found = shape
    return broadcast_shape(found, TensorShape([]))


def _fraction(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The continued fraction of the incomplete beta function, by Lentz's method; it converges for x < (a+1)/(a+b+2)."""
    tiny = 1e-300
    c = np.ones_like(x)
    d = 1 - (a + b) * x / (a + 1)
    d = 1 / np.where(np.abs(d) < tiny, tiny, d)
    found = d.copy()
    for m in range(1, 400):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + step * d
            d = 1 / np.where(np.abs(d) < tiny, tiny, d)
            c = 1 + step / c
            c = np.where(np.abs(c) < tiny, tiny, c)
            found = found * c * d
        if np.all(np.abs(c * d - 1) < 1e-15):
            break
    return found


def _betainc(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    named = [(name, v.shape) for name, v in (("a", a), ("b", b), ("x", x)) if v.ndim]
    for (first, shape), (second, other) in itertools.pairwise(named):
        if shape != other:
            raise invalid(f"Shapes of {first} and {second} are inconsistent: {list(shape)} vs. {list(other)}")
    a, b, x = np.broadcast_arrays(*(v.astype(np.float64) for v in (a, b, x)))
    valid = (a > 0) & (b > 0) & (x >= 0) & (x <= 1)
    a, b, inside = np.where(valid, a, 1.0), np.where(valid, b, 1.0), np.where(valid, x, 0.5)
    turned = inside > (a + 1) / (a + b + 2)
    p, q, z = np.where(turned, b, a), np.where(turned, a, b), np.where(turned, 1 - inside, inside)
    z = np.clip(z, 1e-300, 1 - 1e-16)
    gamma = [torch.lgamma(torch.from_numpy(np.ascontiguousarray(v))).numpy() for v in (a, b, a + b)]
    front = np.exp(p * np.log(z) + q * np.log1p(-z) - (gamma[0] + gamma[1] - gamma[2]))
    found = front * _fraction(p, q, z) / p
    found = np.where(turned, 1 - found, found)
    found = np.where(x == 0, 0.0, np.where(x == 1, 1.0, found))
    return np.where(valid, found, np.nan)


BETAINC.kernel("CPU")(lambda n: via_numpy(_betainc, n["T"]))


@BETAINC.gradient
def betainc_gradient(op: Operation, grad: Tensor) -> list[Any]:
    """Only with respect to x, as in TensorFlow."""
    a, b, x = op.inputs
    gamma = get_op("Lgamma")
    log_beta = gamma(a) + gamma(b) - gamma(a + b)
    density = get_op("Exp")(XLOG1PY(b - get_op("OnesLike")(b), -x) + XLOGY(a - get_op("OnesLike")(a), x) - log_beta)
    return [None, None, sum_to(density * grad, x)]


# --- functions ------------------------------------------------------------------------------------------


def _named(op: OpDef, label: str, x: Any, y: Any, name: str | None) -> Tensor:
    with name_scope(name, label, [x]):
        x = convert_to_tensor(x, name="x")
        return op(x, convert_to_tensor(y, dtype=x.dtype.base_dtype, name="y"))


@export("math.xdivy")
def xdivy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, or 0 where x is 0 (TF: tf.math.xdivy)."""
    return _named(XDIVY, "xdivy", x, y, name)


@export("math.xlogy")
def xlogy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x log(y), or 0 where x is 0 (TF: tf.math.xlogy)."""
    return XLOGY(x, y, name=name)


@export("math.xlog1py")
def xlog1py(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x log(1 + y), or 0 where x is 0 (TF: tf.math.xlog1py)."""
    return _named(XLOG1PY, "xlog1py", x, y, name)


@export("math.multiply_no_nan")
def multiply_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * y, or 0 where y is 0, even if x is infinite or NaN (TF: tf.math.multiply_no_nan)."""
    with name_scope(name, "multiply_no_nan", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        return MUL_NO_NAN(x, convert_to_tensor(y, dtype=x.dtype.base_dtype, name="y"), name=scope)


@export("math.nextafter")
def nextafter(x1: Any, x2: Any, name: str | None = None) -> Tensor:
    """The next representable number after x1, towards x2."""
    return NEXT_AFTER(x1, x2, name=name)


@export("betainc", "math.betainc")
def betainc(a: Any, b: Any, x: Any, name: str | None = None) -> Tensor:
    """The regularised incomplete beta integral I_x(a, b), for a, b > 0 and x in [0, 1] (TF: tf.betainc)."""
    return BETAINC(a, b, x, name=name)


@export("lbeta", "math.lbeta")
def lbeta(x: Any, name: str | None = None) -> Tensor:
    """log |Beta(x)| over the last dimension: the sum of log-gammas minus the log-gamma of the sum (TF: tf.lbeta)."""
    with name_scope(name, "lbeta", [x]):
        x = convert_to_tensor(x, name="x")
        gamma = get_op("Lgamma")
        return reduce_sum(gamma(x), axis=[-1]) - gamma(reduce_sum(x, axis=[-1]))
