"""Functions made of the special ops: cosine transforms, what follows an LU decomposition, names and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.ops import fft_cosine, linalg_lu, special_bessel, special_gamma
from penstock.test import compute_gradient
from tests.ops.nn_reference import randn

X = randn(2, 5)


def run(tensor: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(tensor, feeds)


def cosines(type: int, n: int) -> np.ndarray:
    """The matrix of a transform, as SciPy defines it."""
    k, j = np.arange(n)[:, None], np.arange(n)
    if type == 1:
        matrix = 2 * np.cos(np.pi * k * j / (n - 1))
        matrix[:, [0, -1]] /= 2
        return matrix
    if type == 2:
        return 2 * np.cos(np.pi * k * (2 * j + 1) / (2 * n))
    if type == 3:
        matrix = 2 * np.cos(np.pi * j * (2 * k + 1) / (2 * n))
        matrix[:, 0] /= 2
        return matrix
    return 2 * np.cos(np.pi * (2 * k + 1) * (2 * j + 1) / (4 * n))


@pytest.mark.parametrize("type", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [None, 3, 8])
def test_dct_is_the_product_with_a_matrix_of_cosines(type: int, n: int | None) -> None:
    used = X[:, :n] if n is None or n < 5 else np.pad(X, [[0, 0], [0, n - 5]])
    expected = used @ cosines(type, used.shape[-1]).T
    for dtype, close in ((np.float32, 1e-4), (np.float64, 1e-10)):
        x = tf.placeholder(dtype, [None, None])
        for found in (run(fft_cosine.dct(X.astype(dtype), type, n)), run(fft_cosine.dct(x, type, n), {x: X})):
            assert found.dtype == dtype
            np.testing.assert_allclose(found, used.astype(dtype) @ cosines(type, used.shape[-1]).T, atol=close)
    np.testing.assert_allclose(run(fft_cosine.dct(X, type, n)), expected, atol=1e-4)


@pytest.mark.parametrize("type", [2, 3, 4])
def test_orthogonal_cosine_transforms_are_inverted_by_their_transposes(type: int) -> None:
    matrix = run(fft_cosine.dct(np.eye(6), type, norm="ortho"))
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(6), atol=1e-12)
    back = fft_cosine.idct(fft_cosine.dct(X, type, norm="ortho"), type, norm="ortho")
    np.testing.assert_allclose(run(back), X, atol=1e-5)


@pytest.mark.parametrize(("type", "factor"), [(1, 8), (2, 10), (3, 10), (4, 10)])
def test_idct_undoes_dct_but_for_a_factor(type: int, factor: int) -> None:
    np.testing.assert_allclose(run(fft_cosine.idct(fft_cosine.dct(X, type), type)), factor * X, atol=1e-4)


def test_cosine_transforms_have_gradients() -> None:
    x = tf.constant(X.astype(np.float64))
    (found,) = tf.gradients(fft_cosine.dct(x)[:, 1], x)
    np.testing.assert_allclose(run(found), np.broadcast_to(cosines(2, 5)[1], (2, 5)), atol=1e-10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"type": 5}, "type"),
        ({"norm": "other"}, "norm"),
        ({"axis": 0}, "axis"),
        ({"n": 0}, "n must"),
        ({"type": 1, "norm": "ortho"}, "ortho"),
        ({"type": 1, "n": 1}, "at least 2"),
    ],
)
def test_cosine_transforms_refuse_what_they_do_not_know(options: dict[str, Any], message: str) -> None:
    for transform in (fft_cosine.dct, fft_cosine.idct):
        with pytest.raises(ValueError, match=message):
            transform(X, **options)


def test_lu_factors_solve_invert_and_give_the_matrix_back() -> None:
    for matrix in (randn(3, 4, 4).astype(np.float64), randn(4, 4) + 1j * randn(4, 4, seed=1).astype(np.float64)):
        rhs = (matrix @ randn(4, 2)).astype(matrix.dtype)
        factors, perm = linalg_lu.lu(matrix)
        np.testing.assert_allclose(run(linalg_lu.lu_reconstruct(factors, perm)), matrix, atol=1e-12)
        np.testing.assert_allclose(run(linalg_lu.lu_matrix_inverse(factors, perm)), np.linalg.inv(matrix), atol=1e-9)
        solution = run(linalg_lu.lu_solve(factors, perm, rhs))
        np.testing.assert_allclose(matrix @ solution, rhs, atol=1e-9)


def test_bessel_functions_are_the_scaled_ones_without_their_scale() -> None:
    x = np.array([-2.0, 0.0, 0.5, 3.0])
    for plain, scaled in (
        (special_bessel.bessel_i0, special_bessel.bessel_i0e),
        (special_bessel.bessel_i1, special_bessel.bessel_i1e),
    ):
        np.testing.assert_allclose(run(plain(x)), run(scaled(x)) * np.exp(np.abs(x)), rtol=1e-14)


def test_the_slope_of_the_first_bessel_function_at_zero_is_a_half() -> None:
    x = tf.constant([0.0, 0.0])
    np.testing.assert_array_equal(run(tf.gradients(special_bessel.bessel_i1e(x), x)[0]), [0.5, 0.5])


def test_zeta_has_a_gradient_by_its_second_argument_alone() -> None:
    with tf.Graph().as_default(), tf.Session():
        at = np.array([1.0, 2.5, 0.4])
        x, q = tf.constant([[2.0], [3.5]], tf.float64), tf.constant(at)
        y = special_gamma.zeta(x, q)
        assert tf.gradients(y, x) == [None]
        analytic, numeric = compute_gradient(q, [3], y, [2, 3], x_init_value=at, delta=1e-5)
        np.testing.assert_allclose(analytic, numeric, rtol=1e-6)


def test_betainc_has_a_gradient_by_its_last_argument_alone() -> None:
    """Betainc's density: finite also at the ends, where its parameters are 1."""
    with tf.Graph().as_default(), tf.Session() as session:
        at = np.array([[0.2, 0.9, 0.5], [0.7, 0.1, 0.3]])
        a, x = tf.constant([2.0, 3.5, 1.0], tf.float64), tf.constant(at)
        y = tf.betainc(a + tf.zeros_like(x), tf.constant(1.5, tf.float64), x)
        assert tf.gradients(y, a) == [None]
        analytic, numeric = compute_gradient(x, [2, 3], y, [2, 3], x_init_value=at, delta=1e-6)
        np.testing.assert_allclose(analytic, numeric, rtol=1e-6, atol=1e-8)
        ends = tf.constant([0.0, 1.0])
        np.testing.assert_array_equal(session.run(tf.gradients(tf.betainc(1.0, 1.0, ends), ends)[0]), [1, 1])


def test_the_incomplete_gamma_functions_add_up_to_one_and_have_opposite_gradients() -> None:
    a, x = tf.constant([0.5, 3.0, 20.0]), tf.constant([0.1, 4.0, 18.0])
    lower, upper = special_gamma.igamma(a, x), special_gamma.igammac(a, x)
    np.testing.assert_allclose(run(lower + upper), 1, rtol=1e-6)
    for by in (a, x):
        down, up = run([tf.gradients(lower, by)[0], tf.gradients(upper, by)[0]])
        np.testing.assert_allclose(down, -up, rtol=1e-6)


def test_nodes_have_tensorflow_s_names() -> None:
    with tf.Graph().as_default():
        one, two = tf.constant([0.5]), tf.constant([1.5])
        names = [
            special_gamma.igamma(one, two).op.name,
            special_gamma.igammac(one, two).op.name,
            special_gamma.zeta(two, one).op.name,
            special_bessel.bessel_i0e(one).op.name,
            special_bessel.ndtri(one).op.name,
            linalg_lu.lu([[1.0]])[0].op.name,
        ]
    assert names == ["Igamma", "Igammac", "Zeta", "bessel_i0e", "ndtri/Ndtri", "Lu"]


def test_betainc_of_shapes_that_differ_is_refused() -> None:
    parts = [tf.placeholder(tf.float32) for _ in range(3)]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Shapes of b and x are inconsistent"):
        run(tf.betainc(*parts), dict(zip(parts, [0.5, [0.5], [[0.5]]], strict=True)))
    assert run(tf.betainc(*parts), dict(zip(parts, [1.0, [1.0, 1.0], 0.25], strict=True))).tolist() == [0.25, 0.25]
