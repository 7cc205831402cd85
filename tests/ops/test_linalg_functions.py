"""tf.linalg, tf.einsum and kin: names, composed functions, gradients that the cases cannot check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.session.gradient_checker import compute_gradient_error
from tests.ops.nn_reference import randn

A = randn(3, 3).astype(np.float64) + 3 * np.eye(3)
POSITIVE = A @ A.T


@pytest.fixture(autouse=True)
def _own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _run(tensor: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(tensor, feeds)


def test_solving_gives_what_multiplied_gives_the_right_hand_side() -> None:
    b = randn(3, 2).astype(np.float64)
    np.testing.assert_allclose(A @ _run(tf.matrix_solve(A, b)), b, rtol=1e-9)
    factor = tf.cholesky(POSITIVE)
    np.testing.assert_allclose(POSITIVE @ _run(tf.cholesky_solve(factor, b)), b, rtol=1e-8)
    np.testing.assert_allclose(_run(tf.linalg.logdet(POSITIVE)), np.log(np.linalg.det(POSITIVE)), rtol=1e-9)
    np.testing.assert_allclose(_run(tf.linalg.inv(A)) @ A, np.eye(3), atol=1e-9)
    sign, log = _run(tf.linalg.slogdet(-A))
    assert sign == -1 and log == pytest.approx(np.log(np.linalg.det(A)))


def test_least_squares_are_those_of_numpy_with_and_without_full_rank() -> None:
    a, b = randn(6, 2).astype(np.float64), randn(6, 1).astype(np.float64)
    np.testing.assert_allclose(_run(tf.matrix_solve_ls(a, b)), np.linalg.lstsq(a, b, rcond=None)[0], rtol=1e-8)
    a[:, 1] = a[:, 0]
    np.testing.assert_allclose(
        _run(tf.matrix_solve_ls(a, b, fast=False)), np.linalg.lstsq(a, b, rcond=None)[0], rtol=1e-8
    )


@pytest.mark.parametrize("dims", [(4, 2), (2, 4)])
def test_the_gradient_of_least_squares_agrees_with_differences(dims: tuple[int, int]) -> None:
    """Of MatrixSolveLs by both matrices: as in TensorFlow there is none by the regulariser."""
    a = tf.constant(randn(*dims).astype(np.float64))
    b = tf.constant(randn(dims[0], 2, seed=1).astype(np.float64))
    x = tf.matrix_solve_ls(a, b, l2_regularizer=0.3)
    with tf.Session():
        for variable, shape in ((a, list(dims)), (b, [dims[0], 2])):
            assert compute_gradient_error(variable, shape, x, x.shape.as_list()) < 1e-4


def test_the_gradient_of_cholesky_takes_both_triangles_of_a_symmetric_matrix() -> None:
    """The op Cholesky reads one triangle only, so that differences of single elements would mislead."""
    m = tf.constant(randn(3, 3).astype(np.float64))
    factor = tf.cholesky(tf.matmul(m, m, transpose_b=True) + tf.eye(3, dtype=tf.float64))
    with tf.Session():
        assert compute_gradient_error(m, [3, 3], factor, [3, 3]) < 1e-6


def test_eigenvectors_and_singular_vectors_have_gradients() -> None:
    m = tf.constant(np.diag([1.0, 2.0, 4.0]) + 0.1 * randn(3, 3))
    values, vectors = tf.self_adjoint_eig(m + tf.matrix_transpose(m))
    s, u, v = tf.svd(m)
    with tf.Session():
        for y in (values, vectors**2, tf.matmul(u, v, transpose_b=True), s, tf.svd(m, compute_uv=False)):
            assert compute_gradient_error(m, [3, 3], y, y.shape.as_list()) < 1e-5


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
        ("bij,bjk", [(2, 2, 3), (2, 3, 2)]),
        ("ij,j", [(2, 3), (3,)]),
        ("...ij,kj->...ik", [(2, 1, 3), (4, 3)]),
        ("i,i,i->i", [(3,), (3,), (3,)]),
    ],
)  # fmt: skip
def test_einsum_is_that_of_numpy_and_so_is_its_shape(equation: str, shapes: list[tuple[int, ...]]) -> None:
    inputs = [randn(*shape, seed=i).astype(np.float64) for i, shape in enumerate(shapes)]
    found = tf.einsum(equation, *inputs)
    expected = np.einsum(equation, *inputs)
    assert found.shape.as_list() == list(expected.shape)
    np.testing.assert_allclose(_run(found), expected, rtol=1e-9)


@pytest.mark.parametrize(("equation", "shape"), [("ii", (4, 4)), ("ijji", (2, 3, 3, 2)), ("i j i", (3, 2, 3))])
def test_an_einsum_that_reads_the_same_backwards_is_a_trace_of_the_last_dimensions(
    equation: str, shape: tuple[int, ...]
) -> None:
    x = randn(*shape).astype(np.float64)
    np.testing.assert_allclose(_run(tf.einsum(equation, x)), np.trace(x, axis1=-2, axis2=-1), rtol=1e-9)


def test_an_einsum_of_unknown_sizes_has_gradients() -> None:
    x, w = tf.placeholder(tf.float64, [None, None]), tf.constant(randn(3, 2).astype(np.float64))
    y = tf.einsum("ij,jk->k", x, w)
    value = randn(4, 3).astype(np.float64)
    grads = _run(tf.gradients(y, [x, w]), {x: value})
    np.testing.assert_allclose(grads[0], np.tile(_run(w).sum(1), (4, 1)), rtol=1e-9)
    np.testing.assert_allclose(grads[1], np.tile(value.sum(0)[:, None], (1, 2)), rtol=1e-9)


def test_wrong_einsums_are_refused() -> None:
    with pytest.raises(ValueError, match="2 inputs"):
        tf.einsum("ij->i", np.ones((2, 2)), np.ones(2))
    with pytest.raises(ValueError, match="must be distinct letters of the inputs"):
        tf.einsum("ij->ik", np.ones((2, 2)))
    with pytest.raises(ValueError, match="rank"):
        tf.einsum("ijk->i", np.ones((2, 2)))
    with pytest.raises(TypeError, match="invalid keyword"):
        tf.einsum("ij->i", np.ones((2, 2)), wrong=1)
    x = tf.placeholder(tf.float32, None)
    with pytest.raises(errors.InvalidArgumentError, match=r"(?s)einsum 'ij,jk->ik' of \[2, 3\], \[4, 2\]"):
        _run(tf.einsum("ij,jk->ik", x, np.ones((4, 2), np.float32)), {x: np.ones((2, 3))})


@pytest.mark.parametrize("axes", [0, 1, 2, [[0, 2], [1, 0]], [[1], [2]], [-1, 0]])
def test_tensordot_is_that_of_numpy(axes: Any) -> None:
    a = randn(2, 3, 4).astype(np.float64)
    b = {
        "0": (2,),
        "1": (4, 5),
        "2": (3, 4, 2),
        "[[0, 2], [1, 0]]": (4, 2, 3),
        "[[1], [2]]": (2, 2, 3),
        "[-1, 0]": (4,),
    }
    b_value = randn(*b[str(axes)], seed=1).astype(np.float64)
    expected = np.tensordot(a, b_value, axes)
    found = tf.tensordot(a, b_value, axes)
    assert found.shape.as_list() == list(expected.shape)
    np.testing.assert_allclose(_run(found), expected, rtol=1e-9)
    fed = tf.placeholder(tf.float64, [None, None, 4])
    np.testing.assert_allclose(_run(tf.tensordot(fed, b_value, axes), {fed: a}), expected, rtol=1e-9)


def test_transforms_come_back() -> None:
    x = randn(3, 6, 5)
    for there, back in ((tf.spectral.rfft, tf.spectral.irfft), (tf.spectral.rfft2d, tf.spectral.irfft2d)):
        length = [5] if there is tf.spectral.rfft else [6, 5]
        np.testing.assert_allclose(_run(back(there(x), length)), x, atol=1e-5)
    z = x.astype(np.complex64)
    np.testing.assert_allclose(_run(tf.ifft3d(tf.fft3d(z))), z, atol=1e-5)
    np.testing.assert_allclose(_run(tf.spectral.rfft(x)), np.fft.rfft(x), rtol=1e-4, atol=1e-4)


def test_gradients_of_transforms_agree_with_differences() -> None:
    x = tf.constant(randn(2, 4, 6).astype(np.float64))
    for y in (
        tf.abs(tf.spectral.rfft(x)), tf.abs(tf.spectral.rfft2d(x)), tf.abs(tf.fft2d(tf.complex(x, x * 2.0))),
        tf.spectral.irfft(tf.complex(x, x * 0.5), [10]), tf.spectral.irfft2d(tf.complex(x, x * 0.5), [4, 9]),
        tf.abs(tf.spectral.rfft(x, [5])),
    ):  # fmt: skip
        with tf.Session():
            assert compute_gradient_error(x, [2, 4, 6], y, y.shape.as_list()) < 1e-5


def test_counting_functions_agree_with_numpy() -> None:
    arr = np.array([[1, 1, 3], [0, 5, 1]], np.int32)
    assert _run(tf.bincount(arr)).tolist() == np.bincount(arr.ravel()).tolist()
    assert _run(tf.bincount(arr, minlength=8)).tolist() == np.bincount(arr.ravel(), minlength=8).tolist()
    assert _run(tf.bincount(arr, maxlength=2)).tolist() == [1, 3]
    assert _run(tf.bincount(arr, weights=np.full((2, 3), 0.5, np.float32))).tolist() == [0.5, 1.5, 0, 0.5, 0, 0.5]
    assert _run(tf.bincount(np.array([], np.int32))).tolist() == []
    values = np.array([[-1.0, 0.0], [1.5, 5.0]], np.float32)
    assert _run(tf.histogram_fixed_width_bins(values, [0.0, 5.0], 5)).tolist() == [[0, 0], [1, 4]]
    assert _run(tf.lbeta([2.0, 3.0])) == pytest.approx(np.log(1 / 12), rel=1e-5)


def test_names_from_before_tensorflow_1_still_work() -> None:
    x = randn(2, 3, 3)
    np.testing.assert_allclose(_run(tf.batch_matmul(x, x, adj_y=True)), x @ x.transpose(0, 2, 1), rtol=1e-5)
    assert _run(tf.concat_v2([[1], [2]], 0)).tolist() == [1, 2]
    assert _run(tf.select([True, False], [1, 2], [3, 4])).tolist() == [1, 4]
    np.testing.assert_allclose(_run(tf.batch_matrix_inverse(x + 3 * np.eye(3, dtype=np.float32))) @ (x + 3 * np.eye(3)),
                               np.tile(np.eye(3), (2, 1, 1)), atol=1e-4)  # fmt: skip


def test_a_real_transform_refuses_lengths_that_are_not_one_per_dimension() -> None:
    image = np.zeros((2, 2), np.float32)
    with pytest.raises(ValueError, match=r"Shape \(2,\) must have rank at least 2"):
        tf.spectral.rfft2d(image[0], [2, 2])
    with pytest.raises(ValueError, match=r"Shape \(1, 1\) must have rank 1"):
        tf.spectral.rfft2d(image, [[2]])
    with pytest.raises(ValueError, match="Dimension must be 2 but is 3"):
        tf.spectral.irfft2d(image.astype(np.complex64), [2, 2, 2])
