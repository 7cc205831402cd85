"""Functions of matrices composed of other ops: pseudo-inverse, rank, exponential, products with vectors (TF:
tf.linalg)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.cast import cast
from penstock.ops.diagonal import matrix_diag, matrix_diag_part
from penstock.ops.elementwise import like
from penstock.ops.filling import ones_like
from penstock.ops.layout import matrix_transpose
from penstock.ops.linalg import mm
from penstock.ops.linalg_solve import matrix_solve
from penstock.ops.linalg_spectra import svd
from penstock.ops.matrix import matmul
from penstock.ops.reduce import norm, reduce_max, reduce_sum
from penstock.ops.unary import abs as absolute
from penstock.tensor.dtypes import int32


@export("linalg.adjoint")
def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """The conjugate transpose of each matrix [..., m, n] (TF: tf.linalg.adjoint)."""
    with name_scope(name, "adjoint", [matrix]):
        return matrix_transpose(convert_to_tensor(matrix, name="matrix"), conjugate=True)


@export("linalg.matvec")
def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Matrices a [..., m, n] times vectors b [..., n]: [..., m] (TF: tf.linalg.matvec)."""
    with name_scope(name, "MatVec", [a, b]) as scope:
        column = get_op("ExpandDims")(convert_to_tensor(b, name="b"), -1)
        product = matmul(a, column, transpose_a=transpose_a, adjoint_a=adjoint_a)
        return get_op("Squeeze")(product, squeeze_dims=[-1], name=scope)


@export("linalg.normalize")
def normalize(tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """`tensor` divided by its norm, and that norm, with the dimensions of `tensor` (TF: tf.linalg.normalize)."""
    with name_scope(name, "normalize", [tensor]):
        x = convert_to_tensor(tensor)
        length = norm(x, ord, axis, keepdims=True)
        return x / length, length


def _largest(values: Tensor) -> Tensor:
    return reduce_max(values, axis=[-1], keepdims=True)


@export("linalg.pinv")
def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """Moore and Penrose's inverse of each matrix [..., m, n]: [..., n, m] (TF: tf.linalg.pinv).

    Singular values below `rcond` (by default 10 max(m, n) eps) times the largest one count as 0.
    """
    with name_scope(name or "pinv", values=[a]):
        a = convert_to_tensor(a, name="a")
        s, u, v = svd(a)
        if rcond is None:
            sides = get_op("Shape")(a)[-2:]
            limit = cast(reduce_max(sides), s.dtype) * like(10 * np.finfo(s.dtype.as_numpy_dtype).eps, s)
        else:
            limit = convert_to_tensor(rcond, dtype=s.dtype.base_dtype, name="rcond")
            limit = get_op("ExpandDims")(limit, -1) if limit.shape.ndims != 0 else limit
        counts = get_op("Greater")(s, limit * _largest(s))
        inverse = get_op("SelectV2")(counts, get_op("Reciprocal")(s), get_op("ZerosLike")(s))
        scaled = v * cast(get_op("ExpandDims")(inverse, -2), v.dtype)
        return mm(scaled, u, adj_y=True)


@export("linalg.matrix_rank")
def matrix_rank(a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """int32 [...]: the number of singular values of each matrix above `tol` (TF: tf.linalg.matrix_rank).

    `tol` defaults to max(m, n) eps times the largest one.
    """
    with name_scope(name or "matrix_rank", values=[a]):
        a = convert_to_tensor(a, name="a")
        s = svd(a, compute_uv=False)
        if tol is None:
            sides = get_op("Shape")(a)[-2:]
            tol = cast(reduce_max(sides), s.dtype) * like(np.finfo(s.dtype.as_numpy_dtype).eps, s) * _largest(s)
        return reduce_sum(cast(get_op("Greater")(s, tol), int32), axis=-1)


# --- the exponential ------------------------------------------------------------------------------------

_ORDER = 13
_PADE = [
    math.factorial(2 * _ORDER - k) * math.factorial(_ORDER)
    / (math.factorial(2 * _ORDER) * math.factorial(_ORDER - k) * math.factorial(k))
    for k in range(_ORDER + 1)
]  # fmt: skip
_REACH = 5.371920351148152
"""Up to this 1-norm the Padé approximant is exact in double precision (Higham 2005)."""


@export("linalg.expm")
def expm(input: Any, name: str | None = None) -> Tensor:
    """The exponential of each square matrix [..., n, n] (TF: tf.linalg.expm).

    Uses the Padé approximant of the matrices divided by a power of two, then repeated squaring. Differentiable.
    """
    from penstock.ops.control_flow.while_loop import while_loop  # the gradients use many other ops

    with name_scope(name, "matrix_exponential", [input]):
        x = convert_to_tensor(input, name="matrix")
        size = reduce_max(reduce_sum(absolute(get_op("StopGradient")(x)), -2))
        excess = get_op("Maximum")(size / like(_REACH, size), like(1, size))
        halvings = get_op("Ceil")(get_op("Log")(excess) / like(math.log(2), size))
        x = x / cast(get_op("Pow")(like(2, size), halvings), x.dtype)
        result = _pade(x)
        count = cast(halvings, int32)
        start = convert_to_tensor(0)
        _, result = while_loop(lambda i, _: get_op("Less")(i, count), lambda i, r: [i + 1, mm(r, r)], [start, result])
        return result


def _pade(x: Tensor) -> Tensor:
    eye = matrix_diag(ones_like(matrix_diag_part(x)))
    powers = [eye, mm(x, x)]
    powers += [mm(powers[1], powers[1])]
    powers += [mm(powers[1], powers[2])]

    def polynomial(first: int) -> Tensor:
        """The even powers of x times every second coefficient, from `first` on."""
        low = _sum([powers[i] * like(_PADE[first + 2 * i], x) for i in range(4)])
        high = _sum([powers[i] * like(_PADE[first + 6 + 2 * i], x) for i in range(1, 4)])
        return low + mm(powers[3], high)

    odd, even = mm(x, polynomial(1)), polynomial(0)
    return matrix_solve(even - odd, even + odd)


def _sum(terms: list[Tensor]) -> Tensor:
    return get_op("AddN")(terms)
