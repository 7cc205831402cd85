"""Functions of matrices that are made of several ops, and the gradients of decompositions in every shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.session.gradient_checker import compute_gradient_error
from tests.ops.nn_reference import randn

TALL, WIDE = randn(2, 4, 3).astype(np.float64), randn(2, 3, 5, seed=1).astype(np.float64)
SQUARE = randn(2, 3, 3, seed=2).astype(np.float64)
COMPLEX = SQUARE[0] + 1j * SQUARE[1]


@pytest.fixture(autouse=True)
def _own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def run(tensor: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(tensor, feeds)


def gradient_error(fn: Any, value: np.ndarray) -> float:
    x = tf.constant(value)
    y = fn(x)
    with tf.Session():
        return compute_gradient_error(x, list(value.shape), y, y.shape.as_list(), x_init_value=value, delta=1e-5)


# --- decompositions -------------------------------------------------------------------------------------


def test_the_singular_values_of_complex_matrices_are_real_in_their_precision() -> None:
    expected = np.linalg.svd(COMPLEX, compute_uv=False)
    for s in (tf.svd(COMPLEX)[0], tf.svd(COMPLEX, compute_uv=False)):
        assert s.dtype == tf.float64
        np.testing.assert_allclose(run(s), expected, rtol=1e-12)
    positive = COMPLEX @ COMPLEX.conj().T + np.eye(3)
    found = tf.linalg.logdet(positive)
    assert found.dtype == tf.float64
    np.testing.assert_allclose(run(found), np.log(np.linalg.det(positive).real), rtol=1e-12)


@pytest.mark.parametrize("value", [SQUARE, TALL, WIDE], ids=["square", "tall", "wide"])
@pytest.mark.parametrize("part", [0, 1], ids=["q", "r"])
def test_qr_has_a_gradient_for_matrices_of_every_shape(value: np.ndarray, part: int) -> None:
    assert gradient_error(lambda x: tf.sin(tf.qr(x)[part]), value) < 1e-7


@pytest.mark.parametrize("value", [SQUARE[:1], TALL[:1], WIDE[:1]], ids=["square", "tall", "wide"])
@pytest.mark.parametrize("full", [False, True])
def test_svd_has_a_gradient_that_no_choice_of_signs_changes(value: np.ndarray, full: bool) -> None:
    weights = np.linspace(0.5, 1.5, value.shape[1] * value.shape[2]).reshape(value.shape[1:])

    def projections(x: Any) -> Any:
        s, u, v = tf.svd(x, full_matrices=full)
        k = min(value.shape[1:])
        # What lies outside the first vectors, too, as a whole.
        outer = tf.matmul(u[..., k - 1 :], u[..., k - 1 :], adjoint_b=True)
        right = tf.matmul(v[..., :2], v[..., :2], adjoint_b=True)
        return tf.matmul(outer, tf.matmul(tf.constant(weights[None]), right)) * s[..., None, :1]

    assert gradient_error(projections, value) < 1e-6


def test_singular_values_alone_have_a_gradient_where_no_size_is_known() -> None:
    x = tf.placeholder(tf.float64)
    found = run(tf.gradients(tf.svd(x)[0], x)[0], {x: TALL})
    u, _, vh = np.linalg.svd(TALL, full_matrices=False)
    np.testing.assert_allclose(found, u @ vh, atol=1e-12)


def test_qr_gradients_that_are_not_there_say_why() -> None:
    with pytest.raises(NotImplementedError, match=r"\(2, 4, 3\)"):
        x = tf.constant(TALL)
        tf.gradients(tf.qr(x, full_matrices=True)[0], x)


# --- functions of matrices ------------------------------------------------------------------------------


def _exponential(x: np.ndarray) -> np.ndarray:
    """The series, of the matrix divided by 2^20."""
    term = total = np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)
    for k in range(1, 12):
        term = term @ x / 2**20 / k
        total = total + term
    for _ in range(20):
        total = total @ total
    return total


@pytest.mark.parametrize("scale", [0.0, 0.1, 3.0, 12.0])
def test_expm_is_the_sum_of_the_exponential_series(scale: float) -> None:
    for matrix in (scale * SQUARE, scale * COMPLEX):
        np.testing.assert_allclose(run(tf.linalg.expm(matrix)), _exponential(matrix), rtol=1e-6, atol=1e-9)


def test_expm_of_single_precision_and_of_empty_matrices() -> None:
    found = run(tf.linalg.expm(SQUARE.astype(np.float32)))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, _exponential(SQUARE), rtol=1e-4, atol=1e-4)
    assert run(tf.linalg.expm(np.zeros((2, 0, 0)))).shape == (2, 0, 0)


@pytest.mark.parametrize("scale", [0.5, 6.0])
def test_expm_has_a_gradient_also_through_its_squarings(scale: float) -> None:
    assert gradient_error(lambda x: tf.linalg.expm(x) / np.exp(2 * scale), scale * SQUARE[0]) < 1e-5


def test_pinv_is_numpy_s_and_ignores_tiny_singular_values() -> None:
    deficient = TALL.copy()
    deficient[..., 2] = deficient[..., 0] + deficient[..., 1]
    for matrix in (TALL, WIDE, deficient, COMPLEX):
        np.testing.assert_allclose(run(tf.linalg.pinv(matrix)), np.linalg.pinv(matrix), atol=1e-9)
    diagonal = np.diag([1.0, 0.5, 0.01])
    np.testing.assert_allclose(run(tf.linalg.pinv(diagonal, rcond=0.1)), np.diag([1.0, 2.0, 0.0]), atol=1e-12)


def test_matrix_rank_counts_the_singular_values_that_are_not_noise() -> None:
    assert run(tf.linalg.matrix_rank(np.diag([1.0, 0.0, 2.0]))) == 2
    assert list(run(tf.linalg.matrix_rank(np.stack([np.eye(3), np.ones((3, 3))])))) == [3, 1]
    assert run(tf.linalg.matrix_rank(np.diag([1.0, 0.5]), tol=0.7)) == 1


def test_matvec_multiplies_matrices_by_vectors() -> None:
    vector = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(run(tf.linalg.matvec(SQUARE, vector)), SQUARE @ vector)
    np.testing.assert_allclose(run(tf.linalg.matvec(SQUARE[0], vector, transpose_a=True)), SQUARE[0].T @ vector)
    found = run(tf.linalg.matvec(COMPLEX, vector.astype(complex), adjoint_a=True))
    np.testing.assert_allclose(found, COMPLEX.conj().T @ vector)


def test_normalize_gives_the_norm_beside_the_quotient() -> None:
    unit, length = run(tf.linalg.normalize(tf.constant([[3.0, 4.0], [0.0, 2.0]]), axis=1))
    np.testing.assert_allclose(unit, [[0.6, 0.8], [0.0, 1.0]])
    np.testing.assert_allclose(length, [[5.0], [2.0]])


def test_adjoint_transposes_and_conjugates_also_what_has_no_known_rank() -> None:
    np.testing.assert_array_equal(run(tf.linalg.adjoint(COMPLEX)), COMPLEX.conj().T)
    x = tf.placeholder(tf.complex128)
    np.testing.assert_array_equal(run(tf.linalg.adjoint(x), {x: COMPLEX[None]}), COMPLEX.conj().T[None])


# --- Fourier transforms and tensordot -------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("n", [3, 4, 5, 8, 9])
def test_real_transforms_cut_or_fill_their_input_to_the_length_asked_for(n: int, known: bool) -> None:
    x = TALL.transpose(0, 2, 1)
    fed = tf.placeholder(tf.float64, x.shape if known else None)
    np.testing.assert_allclose(run(tf.spectral.rfft(fed, [n]), {fed: x}), np.fft.rfft(x, n), atol=1e-12)
    z = np.fft.rfft(x)
    half = tf.placeholder(tf.complex128, z.shape if known else None)
    length = tf.constant([n]) if known else tf.placeholder_with_default([n], [1])
    np.testing.assert_allclose(run(tf.spectral.irfft(half, length), {half: z}), np.fft.irfft(z, n), atol=1e-12)
    found = run(tf.spectral.rfft2d(fed, [n, 5]), {fed: x})
    np.testing.assert_allclose(found, np.fft.rfft2(x, [n, 5]), atol=1e-12)


@pytest.mark.parametrize("shape", [(2, 3, 4), (None, 3, None), None])
@pytest.mark.parametrize("length", [None, 3, 6])
def test_gradients_of_real_transforms_need_no_known_sizes(shape: Any, length: int | None) -> None:
    x, lengths = TALL.transpose(0, 2, 1), None if length is None else [length]
    n = length or 4
    kept = np.pad(x, [[0, 0], [0, 0], [0, max(0, n - 4)]])[..., :n]
    fed = tf.placeholder(tf.float64, shape)

    def energy(spectrum: Any) -> Any:
        return tf.reduce_sum(tf.square(tf.real(spectrum)) + tf.square(tf.imag(spectrum)))

    # By Parseval, with frequencies 1 and up counted once instead of twice.
    full = np.fft.fft(kept)
    full[..., n // 2 + 1 :] = 0
    expected = np.pad(2 * n * np.fft.ifft(full).real, [[0, 0], [0, 0], [0, max(0, 4 - n)]])[..., :4]
    found = tf.gradients(energy(tf.spectral.rfft(fed, lengths)), fed)[0]
    np.testing.assert_allclose(run(found, {fed: x}), expected, atol=1e-10)

    back = tf.spectral.irfft(tf.complex(fed, tf.zeros_like(fed)), [length or 6])
    known = tf.constant(x)
    wanted = tf.spectral.irfft(tf.complex(known, tf.zeros_like(known)), [length or 6])
    with tf.Session() as session:
        theirs = tf.gradients(tf.reduce_sum(tf.square(wanted)), known)[0]
        ours = tf.gradients(tf.reduce_sum(tf.square(back)), fed)[0]
        np.testing.assert_allclose(session.run(ours, {fed: x}), session.run(theirs), atol=1e-12)
        assert compute_gradient_error(known, list(x.shape), wanted, wanted.shape.as_list(), delta=1e-5) < 1e-8


@pytest.mark.parametrize("shape", [None, (None, 3, None)])
@pytest.mark.parametrize("axes", [1, [[2, 1], [0, 1]], [[-1], [0]], [2, 0]])
def test_tensordot_and_its_gradient_need_no_known_ranks_or_axes(shape: Any, axes: Any) -> None:
    a, b = TALL.transpose(0, 2, 1), randn(4, 3, 5).astype(np.float64)
    x, y = tf.placeholder(tf.float64, shape), tf.placeholder(tf.float64, None)
    expected = np.tensordot(a, b, axes)
    numbers = [axes] if isinstance(axes, int) else [axes, tf.placeholder_with_default(axes, np.shape(axes))]
    for given in numbers:
        product = tf.tensordot(x, y, given)
        found, grad = run([product, *tf.gradients(product, x)], {x: a, y: b})
        np.testing.assert_allclose(found, expected, atol=1e-12)
        # The product is linear in a.
        np.testing.assert_allclose((grad * a).sum(), expected.sum(), atol=1e-9)


def test_diagonals_of_bools_are_filled_up_with_false_or_what_a_number_says() -> None:
    diagonal = np.array([True, False])
    assert run(tf.linalg.diag(diagonal, k=1)).tolist() == [[False, True, False], [False] * 3, [False] * 3]
    filled = run(tf.linalg.diag(diagonal, k=0, padding_value=1))
    assert filled.tolist() == [[True, True], [True, False]]
    parts = run(tf.linalg.diag_part(np.ones([2, 2], bool), k=(0, 1)))
    assert parts.tolist() == [[True, False], [True, True]]
