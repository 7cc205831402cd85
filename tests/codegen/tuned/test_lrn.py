"""Local response normalization in C: TensorFlow's formula in float64, and finite differences of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import penstock as tf
from penstock.codegen.tuned import lrn
from penstock.graph.opdef import get_op
from tests.codegen import steps


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _normalised(x: np.ndarray, radius: int, bias: float, alpha: float) -> np.ndarray:
    """The documented formula, in float64."""
    x = x.astype(np.float64)
    squares = np.pad(x * x, [(0, 0)] * 3 + [(radius, radius)])
    sums = sum(squares[..., d : d + x.shape[3]] for d in range(2 * radius + 1))
    return x / (bias + alpha * sums) ** 0.75


def _run(x: np.ndarray, g: np.ndarray, mode: str = "on", **attrs: Any) -> list[np.ndarray]:
    """The normalised x, and the gradient by x along g."""
    image, gradient = (tf.placeholder("float32", [None, *v.shape[1:]]) for v in (x, g))
    y = tf.nn.lrn(image, **{"beta": 0.75, **attrs})
    return steps.run([y, *tf.gradients(y, image, gradient)], {image: x, gradient: g}, mode)


def _random(*shape: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=shape).astype(np.float32), rng.normal(size=shape).astype(np.float32)


CASES: list[tuple[tuple[int, int, int, int], dict[str, Any]]] = [
    ((2, 3, 4, 64), {"depth_radius": 4, "alpha": 0.3}),
    ((1, 1, 1, 1), {"depth_radius": 5}),
    ((1, 2, 3, 7), {"depth_radius": 15, "bias": 2.0, "alpha": 0.01}),
    ((3, 5, 5, 33), {"depth_radius": 0, "bias": 0.5}),
    ((2, 9, 9, 100), {"depth_radius": 2, "bias": 1.5, "alpha": 2.0}),
]


@pytest.mark.parametrize(("shape", "attrs"), CASES, ids=str)
def test_values_are_the_formulas_and_the_gradient_its_slope(
    shape: tuple[int, int, int, int], attrs: dict[str, Any]
) -> None:
    x, g = _random(*shape)
    found, slope = _run(x, g, **attrs)
    numbers = attrs["depth_radius"], attrs.get("bias", 1.0), attrs.get("alpha", 1.0)
    np.testing.assert_allclose(found, _normalised(x, *numbers), rtol=2e-6)
    ahead, _ = _random(*shape[::-1])
    direction = ahead.reshape(shape).astype(np.float64)
    step = 1e-6
    difference = _normalised(x + step * direction, *numbers) - _normalised(x - step * direction, *numbers)
    expected = (difference / (2 * step) * g).sum()
    assert abs((slope * direction).sum() - expected) < 1e-5 * (abs(slope * direction).sum() + 1)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_reaches_the_neighbours_as_in_torchs_kernels(bad: float) -> None:
    x, g = _random(1, 2, 2, 12)
    x[0, 1, 1, 6] = bad
    for found, expected in zip(_run(x, g, depth_radius=2), _run(x, g, "off", depth_radius=2), strict=True):
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("threads", [2, 3])
def test_any_number_of_threads_gives_the_same_bits(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x, g = _random(16, 32, 32, 40)
    expected = _run(x, g)
    monkeypatch.setattr(lrn, "SUMS_OF_A_THREAD", 1)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        for found, value in zip(_run(x, g), expected, strict=True):
            np.testing.assert_array_equal(found, value)
    finally:
        torch.set_num_threads(before)


def test_an_empty_batch_gives_an_empty_image() -> None:
    assert [v.shape for v in _run(*_random(0, 2, 2, 8))] == [(0, 2, 2, 8)] * 2


@pytest.mark.parametrize(
    ("attrs", "has_own"), [({"beta": 0.75}, True), ({"beta": 0.5}, False), ({"beta": 0.75, "depth_radius": 16}, False)]
)
def test_other_powers_and_wide_windows_keep_torchs_kernels(attrs: dict[str, Any], has_own: bool) -> None:
    image = tf.placeholder("float32", [None, 4, 4, 8])
    y = tf.nn.lrn(image, **attrs)
    graph = steps.clustered([y, *tf.gradients(y, image)], [image])
    found = [node.op is not get_op(node.op.name) for node in graph.nodes if node.op.name.startswith("LRN")]
    assert found == [has_own] * 2
