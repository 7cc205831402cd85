"""`gradients`: the backward walk of the paper's section 4.1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_paths_add_up(session: tf.Session) -> None:
    x = tf.constant(3.0)
    y = x * x + 2.0 * x
    assert session.run(tf.gradients(y, x)) == [8.0]
    assert session.run(tf.gradients([y, x], [x, y])) == [9.0, 1.0]


def test_what_is_not_connected_is_none_or_zero(session: tf.Session) -> None:
    x, y = tf.constant([1.0, 2.0]), tf.constant(2.0)
    assert tf.gradients(y, x) == [None]
    (zero,) = tf.gradients(y, x, unconnected_gradients="zero")
    assert session.run(zero).tolist() == [0, 0]


def test_grad_ys_weigh_the_ys_and_must_fit(session: tf.Session) -> None:
    x = tf.constant([1.0, 2.0])
    assert session.run(tf.gradients(x * x, x, grad_ys=[[10.0, 1.0]]))[0].tolist() == [20, 4]
    with pytest.raises(ValueError, match=r"Dimensions must be equal, but are 3 and 2"):
        tf.gradients(x * x, x, grad_ys=[[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="2 grad_ys for 1 ys"):
        tf.gradients(x * x, x, grad_ys=[1.0, 1.0])


def test_a_loss_that_is_a_sum_takes_a_weight_for_each_row(session: tf.Session) -> None:
    """As programs train policies: `minimize(tf.nn.l2_loss(action - policy), grad_loss=rewards)`."""
    x = tf.placeholder(tf.float32, [None, 2])
    rewards = tf.placeholder(tf.float32, [None, 1])
    values, weights = np.float32([[1, 2], [3, -4], [5, 6]]), np.float32([[10], [0.5], [-1]])
    (found,) = tf.gradients(tf.nn.l2_loss(x), x, grad_ys=rewards)
    np.testing.assert_array_equal(session.run(found, {x: values, rewards: weights}), values * weights)


def test_stop_gradients_are_constants_of_the_walk(session: tf.Session) -> None:
    a = tf.constant(2.0)
    b = a * 3.0
    c = a + b
    assert session.run(tf.gradients(c, [a, b])) == [4.0, 1.0]
    assert session.run(tf.gradients(c, [a, b], stop_gradients=[a, b])) == [1.0, 1.0]
    assert session.run(tf.gradients(tf.stop_gradient(b) + a, a)) == [1.0]


def test_outputs_that_nothing_depends_on_count_as_zero(session: tf.Session) -> None:
    x = tf.constant([[1.0, 2.0, 3.0, 4.0]])
    _, second = tf.split(x, 2, axis=1)
    assert session.run(tf.gradients(second, x))[0].tolist() == [[0, 0, 1, 1]]


def test_integer_paths_carry_no_gradient(session: tf.Session) -> None:
    x = tf.constant([1.6, 2.4])
    i, n = tf.constant([1, 2]), tf.constant(3)
    whole = tf.cast(x, tf.int32)
    assert tf.gradients(tf.cast(whole, tf.float32), x) == [None]
    assert tf.gradients(whole, x) == tf.gradients(tf.constant(1), x) == tf.gradients(x > 2.0, x) == [None]
    assert (
        tf.gradients(i * 2, i) == tf.gradients(i * 2, i, grad_ys=i) == tf.gradients(tf.cast(i, tf.float32), i) == [None]
    )
    mixed = tf.gradients([i * 2, x * 3.0], [i, x])
    assert session.run(tf.gradients([i, n], [i, n])[0]).tolist() == [1, 1]  # of one to itself there is
    assert session.run(tf.gradients(i, [i], grad_ys=[3 * i])[0]).tolist() == [3, 6]
    assert mixed[0] is None and session.run(mixed[1]).tolist() == [3, 3]
    with pytest.raises(TypeError, match="string"):
        tf.gradients(tf.constant("a"), x)
    chosen = tf.cond(n > 2, lambda: n * 2, lambda: n + 1)
    counted = tf.while_loop(lambda i: i < 9, lambda i: i + 1, [n])
    assert tf.gradients(chosen, n) == tf.gradients(counted, n) == [None]
    y = tf.constant(2.0)
    loop = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * y), [0, 1.0])
    of_count, of_factor = tf.gradients(loop, [n, y])
    assert of_count is None and session.run(of_factor) == 12


def test_grad_ys_are_broadcast_to_their_ys(session: tf.Session) -> None:
    x, w = tf.ones([2, 3]), tf.ones([3, 2])
    open_x = tf.placeholder_with_default(np.ones((2, 3), np.float32), [None, None])
    for y, of, grad, expected in (
        (tf.exp(x) * 0.0 + x * 2.0, x, 2.0, np.full((2, 3), 4.0)),
        (x * 2.0, x, [[1.0, 2.0, 3.0]], np.array([[2.0, 4.0, 6.0]] * 2)),
        (tf.matmul(x, w), x, [[1.0], [2.0]], np.array([[2.0] * 3, [4.0] * 3])),
        (tf.reduce_sum(x, 1), x, 3.0, np.full((2, 3), 3.0)),
        (open_x * open_x, open_x, 2.0, np.full((2, 3), 4.0)),
        (tf.reshape(x, [6]), x, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.arange(1.0, 7.0).reshape(2, 3)),
    ):
        (found,) = tf.gradients(y, of, grad_ys=[grad])
        np.testing.assert_allclose(session.run(found), expected)


def test_second_order_and_hessians(session: tf.Session) -> None:
    x = tf.constant([1.0, 2.0])
    y = tf.reduce_sum(x * x * x) + x[0] * x[1]
    (first,) = tf.gradients(y, x)
    (second,) = tf.gradients(first, x)
    assert session.run(second).tolist() == [7, 13]
    assert session.run(tf.hessians(y, x))[0].tolist() == [[6, 1], [1, 12]]


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_are_differentiated_through_all_their_reads(session: tf.Session, use_resource: bool) -> None:
    v = tf.Variable([2.0, 3.0], use_resource=use_resource)
    session.run(v.initializer)
    loss = tf.reduce_sum(v * v) + tf.reduce_sum(v.read_value() * 5.0)
    assert session.run(tf.gradients(loss, v))[0].tolist() == [9, 11]


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_gather_gives_indexed_slices(session: tf.Session, use_resource: bool) -> None:
    v = tf.Variable([[1.0], [2.0], [3.0]], use_resource=use_resource)
    session.run(v.initializer)
    (grad,) = tf.gradients(tf.gather(v, [2, 0, 2]) * 2.0, v)
    assert isinstance(grad, tf.IndexedSlices)
    value = session.run(grad)
    assert value.indices.tolist() == [2, 0, 2]
    assert value.values.tolist() == [[2], [2], [2]]
    assert session.run(tf.convert_to_tensor(grad)).tolist() == [[2], [0], [4]]


def test_sparse_and_dense_contributions_become_dense(session: tf.Session) -> None:
    v = tf.Variable([[1.0], [2.0]])
    session.run(v.initializer)
    loss = tf.reduce_sum(tf.gather(v, [1])) + tf.reduce_sum(tf.gather(v, [0])) + tf.reduce_sum(v)
    (grad,) = tf.gradients(loss, v)
    assert session.run(grad).tolist() == [[2], [2]]


@pytest.mark.parametrize("method", [None, 0, 1, 2])
def test_every_aggregation_method_gives_the_sum(session: tf.Session, method: int | None) -> None:
    x = tf.constant([1.0, 2.0])
    y = sum((x * float(k) for k in range(1, 6)), tf.zeros([2]))
    assert session.run(tf.gradients(y, x, aggregation_method=method))[0].tolist() == [15, 15]


def test_gated_gradients_wait_for_each_other(session: tf.Session) -> None:
    x, y = tf.constant(2.0, name="x"), tf.constant(5.0, name="y")
    dx, dy = tf.gradients(x * y, [x, y], gate_gradients=True)
    assert session.run([dx, dy]) == [5.0, 2.0]
    assert len(dx.op.control_inputs) == 1
    assert dx.op.control_inputs == dy.op.control_inputs


def test_gradients_can_share_the_device_of_their_operation() -> None:
    x = tf.constant([2.0])
    with tf.device("/cpu:0"):
        y = tf.tanh(x, name="y")
    (dx,) = tf.gradients(y, x, colocate_gradients_with_ops=True)
    assert dx.op.colocation_groups() == [b"loc:@y"]
    assert dx.device == "/device:CPU:0"


def test_sums_of_colocated_gradients_are_with_their_parts_or_with_what_they_are_of() -> None:
    x = tf.constant([[1.0]], name="x")
    a, b = tf.matmul(x, x, name="a"), tf.matmul(x, [[3.0]], name="b")
    (together,) = tf.gradients(a + b, x, colocate_gradients_with_ops=True)
    assert together.op.type == "AddN"
    assert together.op.colocation_groups() == together.op.inputs[0].op.colocation_groups()
    with tf.device("/task:1"):
        c = tf.matmul(x, [[5.0]], name="c")
    (apart,) = tf.gradients(b + c, x, colocate_gradients_with_ops=True)
    assert apart.op.colocation_groups() == x.op.colocation_groups()


def test_a_gradient_may_be_overridden_for_part_of_the_graph(session: tf.Session) -> None:
    name = "TestOverriddenGradient"
    if name not in _registered:
        _registered.add(name)

        @tf.RegisterGradient(name)
        def _(op: Any, grad: Any) -> Any:
            return grad * 100.0

    x = tf.constant(3.0)
    with tf.get_default_graph().gradient_override_map({"Square": name}):
        overridden = tf.square(x)
    assert session.run(tf.gradients(overridden + tf.square(x), x)) == [106.0]


_registered: set[str] = set()


def test_an_op_without_a_gradient_is_named_with_its_line() -> None:
    x = tf.constant([3.0, 1.0])
    with tf.get_default_graph().gradient_override_map({"Tanh": "NoSuchGradient"}):
        y = tf.tanh(x, name="mine")
    with pytest.raises(LookupError, match=r"(?s)No gradient defined for operation 'mine'.*test_gradients\.py"):
        tf.gradients(y, x)


def test_the_jacobian_by_gradients_matches_finite_differences(session: tf.Session) -> None:
    x = tf.placeholder(tf.float64, [2, 3])
    w = tf.placeholder(tf.float64, [3, 2])
    y = tf.tanh(tf.matmul(x, w))
    assert tf.test.compute_gradient_error([x, w], [[2, 3], [3, 2]], y, [2, 2], delta=1e-5) < 1e-6
    theory, numeric = tf.test.compute_gradient(
        x, [2, 3], y, [2, 2], np.ones((2, 3)), extra_feed_dict={w: np.ones((3, 2))}
    )
    assert theory.shape == numeric.shape == (6, 4)
    wrong = y + 0.0 * tf.stop_gradient(tf.reduce_sum(x)) + tf.stop_gradient(x[0, 0])
    assert tf.test.compute_gradient_error(x, [2, 3], wrong, [2, 2], extra_feed_dict={w: np.ones((3, 2))}) > 0.5


def test_a_deep_chain_needs_no_recursion(session: tf.Session) -> None:
    x = tf.constant(1.0)
    y = x
    for _ in range(3000):
        y = y + 0.0
    assert session.run(tf.gradients(y, x)) == [1.0]


COMPLEX = (
    "reciprocal square sqrt rsqrt exp expm1 log log1p sin cos tan sinh cosh tanh asin acos atan asinh atanh sigmoid "
    "abs sign conj real imag negative"
)


@pytest.mark.parametrize("name", COMPLEX.split())
def test_gradients_of_complex_functions_are_those_of_their_parts(session: tf.Session, name: str) -> None:
    x = (1 + 1j) * np.arange(-3.0, 3.0).reshape(1, 3, 2) + 0.5
    tensor = tf.constant(x)
    y = (getattr(tf, name, None) or getattr(tf.math, name))(tensor)
    with session.as_default():
        exact, numeric = tf.test.compute_gradient(tensor, x.shape, y, x.shape, x_init_value=x)
    assert exact.shape == (12, 12 if y.dtype.is_complex else 6)
    np.testing.assert_allclose(exact, numeric, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("name", ["pow", "divide", "multiply", "subtract"])
def test_gradients_of_two_complex_numbers_are_those_of_their_parts(session: tf.Session, name: str) -> None:
    x, y = (1 + 1j) * np.linspace(-2, 2, 6), (1 - 0.5j) * np.linspace(3, 1, 6)
    a, b = tf.constant(x), tf.constant(y)
    with session.as_default():
        for of, value in ((a, x), (b, y)):
            exact, numeric = tf.test.compute_gradient(of, [6], getattr(tf, name)(a, b), [6], x_init_value=value)
            np.testing.assert_allclose(exact, numeric, rtol=1e-4, atol=1e-5)


def test_gradients_of_complex_inverses_are_those_of_their_parts(session: tf.Session) -> None:
    value = np.array([[2 + 1j, 0.3j], [0.5, 1 - 0.2j]])
    x = tf.constant(value)
    with session.as_default():
        for y in (tf.matrix_inverse(x), tf.matrix_solve(x, x * x + 1.0)):
            exact, numeric = tf.test.compute_gradient(x, [2, 2], y, y.shape.as_list(), x_init_value=value)
            np.testing.assert_allclose(exact, numeric, rtol=1e-4, atol=1e-5)


def test_unconnected_gradients_is_an_enum_or_its_text_and_nothing_else() -> None:
    x, y = tf.constant([2.0, 3.0]), tf.constant(1.0)
    assert tf.gradients(y, x, unconnected_gradients=tf.UnconnectedGradients.NONE) == [None]
    (zero,) = tf.gradients(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    with tf.Session() as session:
        assert session.run(zero).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="is not a valid UnconnectedGradients"):
        tf.gradients(y, x, unconnected_gradients="nothing")
