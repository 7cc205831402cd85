"""compute_gradient itself."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as tf


def test_a_complex_number_counts_as_two_real_ones_in_the_jacobian() -> None:
    with tf.Graph().as_default(), tf.Session():
        x = tf.constant(2 - 3j, tf.complex128)
        for y, wanted in [
            ((4 + 6j) * x, [[4, 6], [-6, 4]]),
            (tf.conj(x), [[1, 0], [0, -1]]),
            (tf.real(x), [[1], [0]]),
            (tf.abs(x) ** 2, [[4], [-6]]),
        ]:
            for jacobian in tf.test.compute_gradient(x, [], y, [], 2 - 3j):
                np.testing.assert_allclose(jacobian, wanted, rtol=1e-5, atol=1e-8)


def test_gradients_of_matrix_products_are_right_for_complex_matrices() -> None:
    random = np.random.RandomState(5)
    a, b = (random.normal(size=s) + 1j * random.normal(size=s) for s in ([2, 3], [3, 2]))
    with tf.Graph().as_default(), tf.Session():
        x, y = tf.constant(a), tf.constant(b)
        for product in (tf.matmul(x, y), tf.matmul(y, x, adjoint_a=True, adjoint_b=True)):
            for t, value in ((x, a), (y, b)):
                shape = product.shape.as_list()
                assert tf.test.compute_gradient_error(t, value.shape, product, shape, value) < 1e-8


def test_the_gradient_of_an_empty_tensor_must_be_empty_in_the_same_way() -> None:
    with tf.Graph().as_default() as graph, tf.Session():

        @tf.RegisterGradient("Turned")
        def turned(op: tf.Operation, grad: tf.Tensor) -> tf.Tensor:
            return tf.transpose(grad)

        x = tf.placeholder(tf.float32)
        assert tf.test.compute_gradient_error(x, (0, 2), tf.identity(x), (0, 2)) == 0
        with graph.gradient_override_map({"Identity": "Turned"}):
            y = tf.identity(x)
        with pytest.raises(ValueError, match=r"wrong shape: expected \(0, 2\), got \(2, 0\)"):
            tf.test.compute_gradient(x, (0, 2), y, (0, 2))


def test_grad_ys_of_another_shape_but_as_many_numbers_are_taken_in_their_order() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        assert session.run(tf.gradients(tf.reduce_sum(x), x, grad_ys=[tf.constant([2.0])]))[0].tolist() == [[2] * 3] * 2
        found = tf.gradients(x * x, x, grad_ys=tf.constant([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]]))
        assert session.run(found)[0].tolist() == [[2, 0, 0], [8, 0, 24]]
        batch = tf.placeholder(tf.float32, [None, 2])
        in_a_list = tf.gradients(tf.tanh(batch), batch, grad_ys=[[2 * batch]])
        assert session.run(in_a_list, {batch: [[1e-4, 2e-4]]})[0].ravel() == pytest.approx([2e-4, 4e-4])


def test_the_gradient_through_the_side_of_a_switch_that_was_not_taken_is_zero() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, p = tf.constant(3.0), tf.placeholder(tf.bool, [])
        sides = tf.raw_ops.Switch(data=x, pred=p)
        found = [tf.gradients(sides[0] * 5.0, x)[0], tf.gradients(sides[1] * 7.0, x)[0], tf.gradients(sides[1], x)[0]]
        assert session.run(found, {p: True}) == [0, 7, 1]
        assert session.run(found, {p: False}) == [5, 0, 0]
