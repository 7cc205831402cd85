"""Activations, bias, softmax, cross entropies and other ops on rows."""

from __future__ import annotations

import numpy as np

from penstock import errors
from tests.ops.harness import OpCase
from tests.ops.nn_reference import log_softmax, randn, softmax

SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772

X = np.array([[-30, -2.5, -0.5, 0.25], [1.5, 5.9, 6.5, 40]], np.float32)
G = randn(2, 4, seed=5)
EDGES = np.array([0, 6, np.nan, np.inf, -np.inf, -1e-3], np.float32)
ONES = np.ones(6, np.float32)
INTS = np.array([-3, 0, 2, 9])


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x.astype(np.float64))).astype(x.dtype)


ACTIVATIONS = [
    OpCase("Relu", [X], ref=lambda x: np.maximum(x, 0)),
    OpCase("Relu", [EDGES], ref=np.array([0, 6, np.nan, np.inf, 0, 0]), grad=False),
    OpCase("ReluGrad", [G, X], ref=lambda g, x: g * (x > 0)),
    OpCase("ReluGrad", [ONES, EDGES], ref=np.array([0, 1, 0, 1, 0, 0]), grad=False, note="edges"),
    OpCase("Relu6", [X], ref=lambda x: np.minimum(np.maximum(x, 0), 6)),
    OpCase("Relu6", [EDGES], ref=np.array([0, 6, np.nan, 6, 0, 0]), grad=False),
    OpCase("Relu6Grad", [G, X], ref=lambda g, x: g * ((x > 0) & (x < 6))),
    OpCase("Relu6Grad", [ONES, EDGES], ref=np.zeros(6), grad=False, note="edges"),
    *(
        OpCase(op, [INTS[INTS >= 0].astype(t) if t.startswith("u") else INTS.astype(t)], ref=ref, note=t)
        for t in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
        for op, ref in (("Relu", lambda x: np.maximum(x, 0)), ("Relu6", lambda x: np.clip(x, 0, 6)))
    ),
    *(
        OpCase(op, [np.array([5, 6, 7], t), np.array([0, 2, 9], t)], ref=np.array(ref, t), note=t)
        for t in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
        for op, ref in (("ReluGrad", [0, 6, 7]), ("Relu6Grad", [0, 6, 0]))
    ),
    OpCase("LeakyRelu", [X], ref=lambda x: np.where(x > 0, x, x * np.float32(0.2))),
    OpCase("LeakyRelu", [X], {"alpha": 1.5}, ref=lambda x: np.where(x > 0, x, x * np.float32(1.5))),
    OpCase("LeakyReluGrad", [G, X], {"alpha": 0.1}, ref=lambda g, x: g * np.where(x > 0, 1, 0.1)),
    OpCase("LeakyReluGrad", [ONES, EDGES], ref=np.array([0.2, 1, 0.2, 1, 0.2, 0.2]), grad=False, note="edges"),
    OpCase("Elu", [X], ref=lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))),
    OpCase("EluGrad", [G, X], ref=lambda g, y: g * np.where(y < 0, y + 1, 1)),
    OpCase(
        "Selu",
        [X],
        ref=lambda x: (SCALE * np.where(x > 0, x, ALPHA * np.expm1(np.minimum(x, 0)))).astype("f"),
    ),
    OpCase("SeluGrad", [G, X], ref=lambda g, y: (g * np.where(y < 0, y + SCALE * ALPHA, SCALE)).astype("f")),
    OpCase("SeluGrad", [ONES[:1], ONES[:1] * 0], ref=np.array([SCALE]), grad=False, note="at 0"),
    OpCase("Softplus", [X], ref=lambda x: np.logaddexp(x, 0)),
    OpCase(
        "Softplus",
        [np.array([-745.0, -40, 0, 30, 800])],
        ref=lambda x: np.logaddexp(x, 0),
        rtol=1e-15,
        atol=0,
        note="to the last digit",
    ),
    OpCase("SoftplusGrad", [G, X], ref=lambda g, x: g * sigmoid(x)),
    OpCase("Softsign", [X], ref=lambda x: x / (1 + abs(x))),
    OpCase("SoftsignGrad", [G, X], ref=lambda g, x: g / (1 + abs(x)) ** 2),
    *(
        OpCase(op, [X.astype(np.float16)], ref=ref, note="half")
        for op, ref in (
            ("Elu", lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))),
            ("Softplus", lambda x: np.logaddexp(x.astype("f"), 0)),
            ("Softsign", lambda x: x / (1 + abs(x))),
            ("Relu", lambda x: np.maximum(x, 0)),
        )
    ),
]

IMAGE = randn(2, 3, 2, 2)

BIAS = [
    OpCase("BiasAdd", [IMAGE, randn(2)], ref=lambda x, b: x + b),
    OpCase("BiasAdd", [IMAGE, randn(3)], {"data_format": "NCHW"}, ref=lambda x, b: x + b[:, None, None]),
    OpCase("BiasAdd", [randn(2, 3), randn(3)], {"data_format": "NCHW"}, ref=lambda x, b: x + b),
    OpCase("BiasAddV1", [randn(2, 3), randn(3)], ref=lambda x, b: x + b),
    *(
        OpCase(op, [np.array([[1, 2]], t), np.array([3, 4], t)], ref=np.array([[4, 6]], t), note=t)
        for t in ("int32", "uint16", "uint64", "complex64", "float16")
        for op in ("BiasAdd", "BiasAddV1")
    ),
    OpCase("BiasAdd", [randn(2, 3), randn(2)], raises=ValueError, match="channels of value and bias are 3 and 2"),
    OpCase("BiasAdd", [randn(3), randn(3)], raises=ValueError, match="at least rank 2"),
    OpCase("BiasAddGrad", [IMAGE], ref=lambda g: g.sum((0, 1, 2))),
    OpCase("BiasAddGrad", [IMAGE], {"data_format": "NCHW"}, ref=lambda g: g.sum((0, 2, 3))),
    OpCase("BiasAddGrad", [randn(4, 3)], ref=lambda g: g.sum(0)),
    OpCase("BiasAddGrad", [randn(4, 3)], {"data_format": "NCHW"}, ref=lambda g: g.sum(0)),
    OpCase("BiasAddGrad", [np.array([[1, 2], [3, 4]], "int32")], ref=np.array([4, 6], "int32")),
    OpCase("BiasAddGrad", [np.array([[1, 2], [3, 4]], "uint16")], ref=np.array([4, 6], "uint16")),
    OpCase("BiasAddGrad", [np.zeros((0, 3), "f")], ref=np.zeros(3)),
]

LABELS = softmax(randn(3, 4, seed=9))
LOGITS = randn(3, 4)
SPARSE = np.array([3, 0, 2])


def _entropy(logits: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return -(labels * log_softmax(logits)).sum(-1), softmax(logits) - labels


def _sparse(logits: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return _entropy(logits, np.eye(logits.shape[1], dtype=logits.dtype)[labels])


SOFTMAX = [
    OpCase("Softmax", [LOGITS], ref=softmax),
    OpCase("Softmax", [randn(2, 2, 3)], ref=softmax),
    OpCase("Softmax", [np.array([1000, 999.0])], ref=lambda x: np.array([1, np.exp(-1)]) / (1 + np.exp(-1))),
    OpCase("Softmax", [np.zeros((2, 0), "f")], ref=np.zeros((2, 0), "f")),
    OpCase("Softmax", [np.float32(1)], raises=ValueError, match="at least rank 1"),
    OpCase("LogSoftmax", [LOGITS], ref=log_softmax),
    OpCase("LogSoftmax", [np.array([-1e4, 0, 1e4])], ref=np.array([-2e4, -1e4, 0]), grad=False),
    OpCase("SoftmaxCrossEntropyWithLogits", [LOGITS, LABELS], ref=_entropy),
    OpCase("SoftmaxCrossEntropyWithLogits", [LOGITS[:1], LABELS], ref=_entropy, grad=False, note="broadcast"),
    OpCase(
        "SoftmaxCrossEntropyWithLogits",
        [np.array([[1, -np.inf, 2]], "f"), np.array([[0.5, 0, 0.5]], "f")],
        ref=(np.array([np.nan]), np.array([[-0.23105857, 0, 0.2310586]])),
        grad=False,
        note="0 * log(0)",
    ),
    OpCase(
        "SoftmaxCrossEntropyWithLogits",
        [np.zeros((2, 0), "f"), np.zeros((2, 0), "f")],
        ref=(np.zeros(2), np.zeros((2, 0))),
    ),
    OpCase("SoftmaxCrossEntropyWithLogits", [LOGITS, LABELS[:, :3]], raises=ValueError, match="broadcasting"),
    OpCase("SoftmaxCrossEntropyWithLogits", [LOGITS[0], LABELS[0]], raises=ValueError, match="rank 2"),
    OpCase("SparseSoftmaxCrossEntropyWithLogits", [LOGITS, SPARSE], ref=_sparse),
    OpCase("SparseSoftmaxCrossEntropyWithLogits", [LOGITS, SPARSE.astype(np.int32)], ref=_sparse),
    OpCase(
        "SparseSoftmaxCrossEntropyWithLogits",
        [np.zeros((0, 3), "f"), np.zeros(0, "int32")],
        ref=(np.zeros(0), np.zeros((0, 3))),
    ),
    *(
        OpCase(
            "SparseSoftmaxCrossEntropyWithLogits",
            [LOGITS, np.array([0, bad, 1])],
            raises=errors.InvalidArgumentError,
            match=rf"label value of {bad} which is outside the valid range .*  Label values: 0 {bad}",
        )
        for bad in (4, -1, -100)
    ),
    OpCase("SparseSoftmaxCrossEntropyWithLogits", [LOGITS, SPARSE[:2]], raises=ValueError, match="3 and 2"),
    OpCase("L2Loss", [randn(2, 3)], ref=lambda x: np.float32((x**2).sum() / 2)),
    OpCase("L2Loss", [np.zeros((0,), "f")], ref=np.float32(0)),
    OpCase("L2Loss", [np.full(5000, 1.0, np.float16)], ref=np.float16(2500)),
]

inf, nan = np.inf, np.nan
ROWS = np.array(
    [[1, 2, 3], [3, 2, 1], [nan, 1, 0], [1, 1, 1], [1, 2, nan], [inf, 1, 0], [1, 2, 3], [1, 2, 3]], np.float32
)
TARGETS = np.array([1, 1, 1, 0, 0, 0, 5, -1])

TOP_K = [
    OpCase("InTopK", [ROWS, TARGETS.astype("int32")], {"k": 2}, ref=np.array([1, 1, 0, 1, 0, 0, 0, 0], bool)),
    OpCase("InTopK", [ROWS, TARGETS], {"k": 1}, ref=np.array([0, 0, 0, 1, 0, 0, 0, 0], bool)),
    OpCase("InTopKV2", [ROWS, TARGETS, np.int64(2)], ref=np.array([1, 1, 0, 1, 0, 0, 0, 0], bool)),
    OpCase("InTopKV2", [ROWS, TARGETS.astype("int32"), np.int32(0)], ref=np.zeros(8, bool)),
    OpCase("InTopKV2", [ROWS[:, :0], TARGETS, np.int64(2)], ref=np.zeros(8, bool)),
    OpCase("InTopKV2", [ROWS, TARGETS[:3], np.int64(2)], raises=ValueError, match="8 and 3"),
]

CASES = [*ACTIVATIONS, *BIAS, *SOFTMAX, *TOP_K]
