"""Modified Bessel functions, and the inverses of erf and of the normal distribution (TF: tf.math)."""

from __future__ import annotations

import math
from typing import Any

import torch

from penstock.export import export
from penstock.graph.composite import of_sparse
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.arithmetic import ADD_V2, MUL, SUB
from penstock.ops.elementwise import like, unary_op
from penstock.ops.unary import ABS, EXP, RECIPROCAL, SIGN, SQUARE
from penstock.runtime.kernels import KernelContext

BESSEL_I0E = unary_op("BesselI0e", "floattype", torch.special.i0e, work=16.0)
BESSEL_I1E = unary_op("BesselI1e", "floattype", torch.special.i1e, work=16.0)
ERFINV = unary_op("Erfinv", "floattype", torch.special.erfinv, work=16.0)
NDTRI = unary_op("Ndtri", "floattype", torch.special.ndtri, types="float double", work=64.0)


@NDTRI.kernel(T="half bfloat16")
def ndtri_kernel(ctx: KernelContext) -> Kernel:
    """Half precision is computed in float32: torch has none."""
    dtype = ctx.torch_dtype()
    return lambda x: torch.special.ndtri(x.float()).to(dtype)


@BESSEL_I0E.gradient
def bessel_i0e_gradient(op: Operation, grad: Tensor) -> Tensor:
    x, y = op._inputs[0], op._outputs[0]
    return MUL(grad, SUB(BESSEL_I1E(x), MUL(SIGN(x), y)))


@BESSEL_I1E.gradient
def bessel_i1e_gradient(op: Operation, grad: Tensor) -> Tensor:
    """i0e(x) - y (sign(x) + 1/x), which is 1/2 at 0; the other branch must also be finite there."""
    x, y = op._inputs[0], op._outputs[0]
    equal, select = get_op("Equal"), get_op("SelectV2")
    zero = equal(x, like(0, x))
    safe = select(zero, like(1, x), x)
    slope = SUB(BESSEL_I0E(safe), MUL(y, ADD_V2(SIGN(safe), RECIPROCAL(safe))))
    return MUL(grad, select(zero, like(0.5, x), slope))


@ERFINV.gradient
def erfinv_gradient(op: Operation, grad: Tensor) -> Tensor:
    y = op._outputs[0]
    return MUL(grad, MUL(like(math.sqrt(math.pi) / 2, y), EXP(SQUARE(y))))


@NDTRI.gradient
def ndtri_gradient(op: Operation, grad: Tensor) -> Tensor:
    y = op._outputs[0]
    return MUL(grad, MUL(like(math.sqrt(2 * math.pi), y), EXP(MUL(like(0.5, y), SQUARE(y)))))


@export("math.bessel_i0e")
@of_sparse
def bessel_i0e(x: Any, name: str | None = None) -> Tensor:
    """`exp(-|x|) * bessel_i0(x)`, which does not overflow (TF: tf.math.bessel_i0e)."""
    with name_scope(name, "bessel_i0e", [x]) as scope:
        return BESSEL_I0E(x, name=scope)


@export("math.bessel_i1e")
@of_sparse
def bessel_i1e(x: Any, name: str | None = None) -> Tensor:
    """`exp(-|x|) * bessel_i1(x)`, which does not overflow (TF: tf.math.bessel_i1e)."""
    with name_scope(name, "bessel_i1e", [x]) as scope:
        return BESSEL_I1E(x, name=scope)


@export("math.bessel_i0")
def bessel_i0(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 0 (TF: tf.math.bessel_i0)."""
    with name_scope(name, "bessel_i0", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return MUL(EXP(ABS(x)), BESSEL_I0E(x), name=scope)


@export("math.bessel_i1")
@of_sparse
def bessel_i1(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 1 (TF: tf.math.bessel_i1)."""
    with name_scope(name, "bessel_i1", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return MUL(EXP(ABS(x)), BESSEL_I1E(x), name=scope)


@export("math.erfinv")
@of_sparse
def erfinv(x: Any, name: str | None = None) -> Tensor:
    """y with erf(y) = x, for -1 <= x <= 1, otherwise NaN (TF: tf.math.erfinv)."""
    with name_scope(name, "erfinv", [x]):
        return ERFINV(x)


@export("math.ndtri")
def ndtri(x: Any, name: str | None = None) -> Tensor:
    """The quantile x of the standard normal distribution, for 0 <= x <= 1, otherwise NaN (TF: tf.math.ndtri)."""
    with name_scope(name, "ndtri", [x]):
        return NDTRI(x)
