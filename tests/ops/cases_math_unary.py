"""Element-wise functions of one input, complex numbers, casts."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

from tests.ops.harness import OpCase

NAN, INF = np.nan, np.inf
X = np.array([[0.5, -1.5, 2.25], [3.0, 0.25, -0.75]], np.float32)
POSITIVE = np.abs(X)
UNROUND = X + np.float32(0.125)
INSIDE = X / np.float32(4)
C = np.array([1.5 + 0.5j, -0.25 - 2j, 0.75j], np.complex64)


def f(*values: object) -> np.ndarray:
    return np.array(values, np.float32)


def _elementwise(op: str, x: np.ndarray, ref: object, of_complex: bool = True) -> list[OpCase]:
    """An op on floats with its gradient, on complex numbers, halves, an empty tensor and a scalar."""
    cases = [
        OpCase(op, [x], ref=ref),
        OpCase(op, [x.astype(np.float64)], ref=ref),
        OpCase(op, [x[0].astype(np.float16)], ref=ref),
        OpCase(
            op,
            [x[0].astype(ml_dtypes.bfloat16)],
            ref=lambda v: ref(v.astype(np.float32)),
            rtol=5e-2,
            atol=5e-2,
        ),
        OpCase(op, [x[:0]], ref=ref),
        OpCase(op, [x[0, 0]], ref=ref),
    ]
    if of_complex:
        cases.append(OpCase(op, [C], ref=ref, rtol=1e-4))
    return cases


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _math(fn: object) -> object:
    return lambda x: np.vectorize(fn, otypes=[np.float64])(x).astype(x.dtype) if np.size(x) else x


FUNCTIONS = [
    *_elementwise("Neg", X, np.negative),
    *_elementwise("Abs", X, np.abs, of_complex=False),
    *_elementwise("Sign", X, lambda x: x / np.abs(x) if np.iscomplexobj(x) else np.sign(x)),
    *_elementwise("Square", X, np.square),
    *_elementwise("Sqrt", POSITIVE, np.sqrt),
    *_elementwise("Rsqrt", POSITIVE, lambda x: 1 / np.sqrt(x)),
    *_elementwise("Reciprocal", X, lambda x: 1 / x),
    *_elementwise("Inv", X, lambda x: 1 / x),
    *_elementwise("Exp", X, np.exp),
    *_elementwise("Expm1", X, np.expm1),
    *_elementwise("Log", POSITIVE, np.log),
    *_elementwise("Log1p", POSITIVE, np.log1p),
    *_elementwise("Tanh", X, np.tanh),
    *_elementwise("Sigmoid", X, sigmoid),
    *_elementwise("Sin", X, np.sin),
    *_elementwise("Cos", X, np.cos),
    *_elementwise("Tan", X, np.tan),
    *_elementwise("Asin", INSIDE, np.arcsin),
    *_elementwise("Acos", INSIDE, np.arccos),
    *_elementwise("Atan", X, np.arctan),
    *_elementwise("Sinh", X, np.sinh),
    *_elementwise("Cosh", X, np.cosh),
    *_elementwise("Asinh", X, np.arcsinh),
    *_elementwise("Acosh", POSITIVE + 1, np.arccosh),
    *_elementwise("Atanh", INSIDE, np.arctanh),
    *_elementwise("Erf", X, _math(math.erf), of_complex=False),
    *_elementwise("Erfc", X, _math(math.erfc), of_complex=False),
    *_elementwise("Lgamma", POSITIVE, _math(math.lgamma), of_complex=False),
    *_elementwise("Ceil", UNROUND, np.ceil, of_complex=False),
    *_elementwise("Floor", UNROUND, np.floor, of_complex=False),
    *_elementwise("Rint", UNROUND, np.rint, of_complex=False),
    *_elementwise("Round", UNROUND, np.rint, of_complex=False),
    # digamma(1) is -Euler's constant, digamma(1/2) = -gamma - 2 ln 2, digamma(x + 1) = digamma(x) + 1/x
    OpCase("Digamma", [f(1, 0.5, 2, 1.5)], ref=f(-0.5772157, -1.9635100, 0.4227843, 0.0364900)),
    # polygamma(1, 1) = pi²/6, polygamma(1, 1/2) = pi²/2, polygamma(2, 1) = -2 zeta(3)
    OpCase("Polygamma", [f(1, 1, 2), f(1, 0.5, 1)], ref=f(np.pi**2 / 6, np.pi**2 / 2, -2.4041138), grad=False),
    OpCase(
        "Polygamma",
        [np.int64(1).astype(np.float32), f(1, 0.5, 1.5)],
        ref=f(1.6449341, 4.9348022, 0.9348022),
        grad=False,
    ),
    OpCase("Polygamma", [f(-1, 0.5, 0), f(1, 1, 1)], ref=f(NAN, NAN, -0.5772157), grad=False),
]

EDGES = [
    OpCase("Sign", [f(NAN, -0.0, 2, -INF)], ref=f(NAN, 0, 1, -1), grad=False),
    OpCase("Sign", [np.array([-3, 0, 7], np.int32)], ref=np.sign),
    OpCase("Sign", [np.zeros(1, np.complex64)], ref=np.zeros(1, np.complex64)),
    OpCase("Neg", [np.array([-(2**31), 5], np.int32)], ref=np.array([-(2**31), -5], np.int32)),
    OpCase("Abs", [np.array([-128, -5], np.int8)], ref=np.array([-128, 5], np.int8)),
    OpCase("Square", [np.array([3, 65535], np.uint16)], ref=np.array([9, 1], np.uint16)),
    OpCase("Square", [np.array([2**32 + 1], np.uint64)], ref=np.array([2**33 + 1], np.uint64)),
    OpCase("Sqrt", [f(-1, 0, INF)], ref=f(NAN, 0, INF), grad=False),
    OpCase("Rsqrt", [f(0, -1, INF)], ref=f(INF, NAN, 0), grad=False),
    OpCase("Log", [f(-1, 0, INF)], ref=f(NAN, -INF, INF), grad=False),
    OpCase("Reciprocal", [f(0, INF)], ref=f(INF, 0), grad=False),
    OpCase("Sigmoid", [f(-1000, 1000, NAN)], ref=f(0, 1, NAN), grad=False),
    OpCase("Acosh", [f(0.5)], ref=f(NAN), grad=False),
    OpCase("Atanh", [f(1, -1, 2)], ref=f(INF, -INF, NAN), grad=False),
    OpCase("Lgamma", [f(0, -1, -1.5, INF)], ref=f(INF, INF, 0.8600470, INF), grad=False),
    OpCase("Round", [f(0.5, 1.5, 2.5, -0.5, -1.5, NAN, INF)], ref=f(0, 2, 2, 0, -2, NAN, INF), grad=False),
    OpCase("Round", [np.array([3, -4], np.int32)], ref=lambda x: x),
    OpCase("Rint", [f(0.5, 1.5, 2.5, -0.5)], ref=f(0, 2, 2, 0), grad=False),
    OpCase("IsNan", [f(1, NAN, INF, -INF)], ref=np.isnan),
    OpCase("IsInf", [f(1, NAN, INF, -INF)], ref=np.isinf),
    OpCase("IsFinite", [f(1, NAN, INF, -INF)], ref=np.isfinite),
]

VALUES, GRADS = f(0.5, -0.25, 0.75), f(2, -1, 0.5)
COMPLEX_VALUES = [C, np.array([2, 1j, 1 - 1j], np.complex64)]
GRADIENT_OPS = {
    "TanhGrad": lambda y, dy: dy * (1 - y * y),
    "SigmoidGrad": lambda y, dy: dy * y * (1 - y),
    "SqrtGrad": lambda y, dy: dy * 0.5 / np.conj(y),
    "RsqrtGrad": lambda y, dy: dy * -0.5 * np.conj(y) ** 3,
    "ReciprocalGrad": lambda y, dy: -dy * np.conj(y) ** 2,
    "InvGrad": lambda y, dy: -dy * np.conj(y) ** 2,
}
HELPERS = [
    case
    for op, ref in GRADIENT_OPS.items()
    for case in (
        OpCase(op, [VALUES, GRADS], ref=lambda y, dy, ref=ref: ref(y, dy).astype(y.dtype)),
        OpCase(op, COMPLEX_VALUES, ref=lambda y, dy, ref=ref: ref(y, dy).astype(y.dtype), rtol=1e-4),
    )
]

COMPLEX = [
    OpCase("Complex", [X, X[0]], ref=lambda r, i: (r + 1j * i).astype(np.complex64), grad=False),
    OpCase(
        "Complex",
        [X.astype(np.float64), np.float64(2)],
        {"Tout": "complex128"},
        ref=lambda r, i: r + 1j * i,
        grad=False,
    ),
    OpCase("Real", [C], ref=np.real),
    OpCase("Imag", [C], ref=np.imag),
    OpCase("Conj", [C], ref=np.conj),
    OpCase("Angle", [C], ref=np.angle),
    OpCase("ComplexAbs", [C], ref=np.abs),
    OpCase("Real", [C], {"Tout": "float64"}, ref=lambda x: x.real.astype(np.float64)),
    OpCase("ComplexAbs", [np.zeros(2, np.complex128)], {"Tout": "float64"}, ref=np.zeros(2)),
]

OUT_OF_RANGE = f(300.7, -1.5, -300.7, 70000)
CASTS = [
    OpCase("Cast", [X], {"DstT": "float64"}, ref=lambda x: x.astype(np.float64)),
    OpCase("Cast", [X], {"DstT": "float16"}, ref=lambda x: x.astype(np.float16)),
    OpCase("Cast", [X], {"DstT": "float32"}, ref=lambda x: x, note="to its own type"),
    OpCase("Cast", [f(1.9, -1.9, 0)], {"DstT": "int32"}, ref=np.array([1, -1, 0], np.int32)),
    OpCase("Cast", [f(NAN, INF, 1e20)], {"DstT": "int32"}, ref=np.array([-(2**31)] * 3, np.int32)),
    OpCase("Cast", [f(NAN, INF, 1e20)], {"DstT": "int64"}, ref=np.array([-(2**63)] * 3, np.int64)),
    OpCase("Cast", [OUT_OF_RANGE], {"DstT": "uint8"}, ref=np.array([44, 255, 212, 112], np.uint8)),
    OpCase("Cast", [OUT_OF_RANGE], {"DstT": "int8"}, ref=np.array([44, -1, -44, 112], np.int8)),
    OpCase("Cast", [OUT_OF_RANGE], {"DstT": "uint16"}, ref=np.array([300, 65535, 65236, 4464], np.uint16)),
    OpCase(
        "Cast",
        [OUT_OF_RANGE],
        {"DstT": "uint32"},
        ref=np.array([300, 2**32 - 1, 2**32 - 300, 70000], np.uint32),
    ),
    OpCase(
        "Cast",
        [OUT_OF_RANGE],
        {"DstT": "uint64"},
        ref=np.array([300, 2**64 - 1, 2**64 - 300, 70000], np.uint64),
    ),
    OpCase("Cast", [f(0, -0.0, 0.1, NAN)], {"DstT": "bool"}, ref=np.array([False, False, True, True])),
    OpCase("Cast", [np.array([True, False])], {"DstT": "float32"}, ref=f(1, 0)),
    OpCase("Cast", [np.array([True, False])], {"DstT": "complex64"}, ref=np.array([1, 0], np.complex64)),
    OpCase("Cast", [np.array([-1, 300], np.int32)], {"DstT": "uint8"}, ref=np.array([255, 44], np.uint8)),
    OpCase("Cast", [np.array([2**64 - 1, 5], np.uint64)], {"DstT": "int32"}, ref=np.array([-1, 5], np.int32)),
    OpCase("Cast", [C], {"DstT": "float32"}, ref=np.real),
    OpCase("Cast", [C], {"DstT": "complex128"}, ref=lambda x: x.astype(np.complex128)),
    OpCase("Cast", [np.array([1.5 + 2j, 2j], np.complex64)], {"DstT": "bool"}, ref=np.array([True, False])),
    OpCase(
        "Cast",
        [f(1.0001, 3.14159, 70000)],
        {"DstT": "float16", "Truncate": True},
        ref=np.array([1, 3.140625, INF], np.float16),
    ),
    OpCase(
        "Cast",
        [f(3.14159265, -2.7182818)],
        {"DstT": "bfloat16", "Truncate": True},
        ref=np.array([3.140625, -2.703125]).astype(ml_dtypes.bfloat16),
        rtol=1e-9,
    ),
    OpCase(
        "Cast",
        [np.array([0.1, NAN])],
        {"DstT": "float32", "Truncate": True},
        ref=np.array([0x3DCCCCCC, 0x7FC00000], np.uint32).view(np.float32),
    ),
]

for case in CASTS:
    case.grad = False  # the check rebuilds the op without its type attributes; see test_math_functions.py

CASES = FUNCTIONS + EDGES + HELPERS + COMPLEX + CASTS
