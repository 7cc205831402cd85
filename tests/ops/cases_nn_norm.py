"""Batch normalization and local response normalization.

Their types are float32 and narrower, so differences in double precision cannot check the gradients: those are
compared with formulas in `test_nn_functions.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.harness import OpCase
from tests.ops.nn_reference import batch_norm, batch_norm_grad, first, lrn, randn

EPSILON = 1e-3
SCALE, OFFSET = np.array([1, 2], np.float32), np.array([0.5, -1], np.float32)
MEAN, VARIANCE = np.array([0.1, 0.2], np.float32), np.array([1, 2], np.float32)
EMPTY = np.zeros(0, np.float32)
X, G = randn(2, 3, 2, 2), randn(2, 3, 2, 2, seed=4)
X5 = randn(2, 2, 1, 3, 2)


def _trained(x: Any, *factor: float) -> tuple[Any, ...]:
    return batch_norm(x, SCALE, OFFSET, EPSILON)


def _inferred(x: Any) -> tuple[Any, ...]:
    y = (x - MEAN) / np.sqrt(VARIANCE + EPSILON) * SCALE + OFFSET
    return y, MEAN, VARIANCE, MEAN, VARIANCE


def _global_grad(scale: Any, learned: float) -> tuple[Any, ...]:
    """Of t, m, v, beta and gamma, with the variance's epsilon 0.01."""
    inverse, db = 1 / np.sqrt(VARIANCE + 0.01), G.sum((0, 1, 2))
    products = (G * (X - MEAN)).sum((0, 1, 2))
    return (
        G * scale * inverse,
        -db * scale * inverse,
        -products * scale * inverse**3 / 2,
        db,
        products * inverse * learned,
    )


def norm_cases(suffix: str) -> list[OpCase]:
    name, third = f"FusedBatchNorm{suffix}", (EMPTY,) if suffix == "V3" else ()
    grad_name = f"FusedBatchNormGrad{suffix}"
    y, *stats = _trained(X)
    attrs = {"epsilon": EPSILON}
    by_x, by_scale, by_offset = batch_norm_grad(G, X, SCALE, EPSILON)
    normal = (X - MEAN) / np.sqrt(VARIANCE + EPSILON)
    fixed = (G * SCALE / np.sqrt(VARIANCE + EPSILON), (G * normal).sum((0, 1, 2)), G.sum((0, 1, 2)))
    near: dict[str, Any] = {"grad": False, "rtol": 1e-4, "atol": 1e-5}
    return [
        OpCase(name, [X, SCALE, OFFSET, EMPTY, EMPTY], attrs, ref=(y, *stats, *third), **near),
        OpCase(
            name,
            [first(X), SCALE, OFFSET, EMPTY, EMPTY],
            attrs | {"data_format": "NCHW"},
            ref=(first(y), *stats, *third),
            **near,
        ),
        OpCase(
            name,
            [X, SCALE, OFFSET, MEAN, VARIANCE],
            attrs | {"is_training": False},
            ref=(*_inferred(X), *third),
            **near,
        ),
        OpCase(
            name,
            [X, SCALE, OFFSET, MEAN, VARIANCE],
            attrs | {"exponential_avg_factor": 0.25},
            ref=(
                y,
                0.75 * MEAN + 0.25 * stats[0],
                0.75 * VARIANCE + 0.25 * stats[1],
                stats[2],
                stats[3],
                *third,
            ),
            **near,
        ),
        OpCase(
            grad_name,
            [G, X, SCALE, stats[2], stats[3], *third],
            attrs,
            ref=(by_x, by_scale, by_offset, EMPTY, EMPTY),
            **near,
        ),
        OpCase(
            grad_name,
            [first(G), first(X), SCALE, stats[2], stats[3], *third],
            attrs | {"data_format": "NCHW"},
            ref=(first(by_x), by_scale, by_offset, EMPTY, EMPTY),
            **near,
        ),
        OpCase(
            grad_name,
            [G, X, SCALE, MEAN, VARIANCE, *third],
            attrs | {"is_training": False},
            ref=(*fixed, EMPTY, EMPTY),
            **near,
        ),
    ]


def _pixel(x: Any) -> tuple[Any, ...]:
    flat, zeros = x.ravel(), np.zeros(2)
    return np.broadcast_to(OFFSET, x.shape), flat, zeros, flat, zeros, EMPTY


CASES = [
    *norm_cases(""),
    *norm_cases("V2"),
    *norm_cases("V3"),
    OpCase(
        "FusedBatchNormV3",
        [X5, SCALE, OFFSET, EMPTY, EMPTY],
        {"epsilon": EPSILON, "data_format": "NDHWC"},
        ref=(*_trained(X5), EMPTY),
        grad=False,
        rtol=1e-4,
    ),
    OpCase(
        "FusedBatchNormV3",
        [first(X5), SCALE, OFFSET, EMPTY, EMPTY],
        {"epsilon": EPSILON, "data_format": "NCDHW"},
        ref=(first(_trained(X5)[0]), *_trained(X5)[1:], EMPTY),
        grad=False,
        rtol=1e-4,
    ),
    OpCase(
        "FusedBatchNormV3",
        [X.astype(np.float16), SCALE, OFFSET, EMPTY, EMPTY],
        {"epsilon": EPSILON},
        ref=lambda x, *_: (*_trained(x.astype(np.float32)), EMPTY),
        grad=False,
        rtol=1e-3,
        atol=1e-3,
    ),
    OpCase(
        "FusedBatchNormV3",
        [X[:1, :1, :1], SCALE, OFFSET, EMPTY, EMPTY],
        ref=lambda x, *_: _pixel(x),
        grad=False,
    ),
    OpCase(
        "FusedBatchNormV3",
        [X[:0], SCALE, OFFSET, EMPTY, EMPTY],
        ref=(X[:0], np.full(2, np.nan), np.full(2, np.nan), np.zeros(2), np.zeros(2), EMPTY),
        grad=False,
        note="of no image",
    ),
    *(
        OpCase(
            "BatchNormWithGlobalNormalization",
            [v.astype(np.float64) for v in (X, MEAN, VARIANCE, OFFSET, SCALE)],
            {"variance_epsilon": 0.01, "scale_after_normalization": scaled},
            ref=lambda t, m, v, beta, gamma, by=scaled: (t - m) / np.sqrt(v + 0.01) * (gamma if by else 1) + beta,
        )
        for scaled in (True, False)
    ),
    *(
        OpCase(
            "BatchNormWithGlobalNormalizationGrad",
            [X, MEAN, VARIANCE, SCALE, G],
            {"variance_epsilon": 0.01, "scale_after_normalization": scaled},
            ref=_global_grad(SCALE if scaled else np.ones_like(SCALE), float(scaled)),
            grad=False,
        )
        for scaled in (True, False)
    ),
    OpCase("FusedBatchNorm", [X, SCALE[:1], OFFSET, EMPTY, EMPTY], raises=ValueError, match="2 and 1"),
    OpCase(
        "LRN",
        [randn(1, 2, 2, 7)],
        {"depth_radius": 2, "bias": 1.5, "alpha": 0.3, "beta": 0.75},
        ref=lambda x: lrn(x, 2, 1.5, 0.3, 0.75),
        grad=False,
    ),
    OpCase("LRN", [randn(1, 2, 1, 3)], ref=lambda x: lrn(x, 5, 1, 1, 0.5), grad=False),
    OpCase(
        "LRN",
        [randn(1, 1, 2, 5).astype(np.float16)],
        ref=lambda x: lrn(x.astype("f"), 5, 1, 1, 0.5),
        grad=False,
    ),
    OpCase("LRN", [randn(2, 3)], raises=ValueError, match="rank 4"),
    OpCase(
        "LRNGrad",
        [np.ones((1, 1, 1, 2), "f"), np.array([3, 4], "f").reshape(1, 1, 1, 2), np.zeros((1, 1, 1, 2), "f")],
        {"depth_radius": 0, "bias": 0.0, "alpha": 1.0, "beta": 0.5},
        ref=lambda g, x, y: g / abs(x),  # with outputs of 0, only the direct part is left
    ),
]
