"""The white paper's figures, as printed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import penstock
import penstock as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


FIGURE_1 = """
b = tf.Variable(tf.zeros([100]))                     # 100-d vector, init to zeroes
W = tf.Variable(tf.random_uniform([784, 100], -1, 1))  # 784x100 matrix w/rnd vals
x = tf.placeholder(name="x")                         # Placeholder for input
relu = tf.nn.relu(tf.matmul(W, x) + b)               # Relu(Wx+b)
C = tf.reduce_mean(relu)                             # Cost computed as a function
                                                     # of Relu
s = tf.Session()
"""


def test_figure_1_runs_as_printed() -> None:
    """The paper leaves out how C is computed and that variables are initialised; the rest is its text.

    Its W is 784x100 and b a 100-vector, so Wx+b broadcasts where x is one column.
    """
    scope = {"tf": penstock}
    exec(FIGURE_1, scope)
    s, C, x, W = scope["s"], scope["C"], scope["x"], scope["W"]
    s.run(tf.initialize_all_variables())
    weights = s.run(W)
    assert weights.shape == (784, 100)
    assert -1 <= weights.min() < -0.99
    assert 0.99 < weights.max() <= 1
    for step in range(10):
        input = np.random.RandomState(step).rand(100, 1).astype(np.float32)  # 100-d input
        result = s.run(C, feed_dict={x: input})
        np.testing.assert_allclose(result, np.maximum(weights @ input + np.zeros(100), 0).mean(), rtol=1e-4)
    s.close()


def test_figure_5_gradients_of_the_cost_by_all_three_inputs() -> None:
    """[db, dW, dx] = tf.gradients(C, [b, W, x])"""
    b = tf.Variable(tf.random_uniform([4, 1], -1, 1, seed=1))
    W = tf.Variable(tf.random_uniform([4, 3], -1, 1, seed=2))
    x = tf.placeholder(name="x")
    relu = tf.nn.relu(tf.matmul(W, x) + b)
    C = tf.reduce_sum(relu * relu)
    [db, dW, dx] = tf.gradients(C, [b, W, x])
    with tf.Session() as s:
        s.run(tf.initialize_all_variables())
        column = np.array([[1.0], [-2.0], [0.5]], np.float32)
        got_b, got_W, got_x, w, bias = s.run([db, dW, dx, W, b], {x: column})
    through = 2 * np.maximum(w @ column + bias, 0)
    np.testing.assert_allclose(got_b, through, rtol=1e-5)
    np.testing.assert_allclose(got_W, through @ column.T, rtol=1e-5)
    np.testing.assert_allclose(got_x, w.T @ through, rtol=1e-5)
    assert (through > 0).any()
    assert (through == 0).any()


def test_figure_6_nodes_d_and_e_do_not_run() -> None:
    """Feeding b and fetching f: of the graph a..f only c and f are needed."""
    ran: list[str] = []

    def node(name: str, *inputs: tf.Tensor) -> tf.Tensor:
        counter = tf.Variable(0, name=f"{name}_runs")
        counters[name] = counter
        with tf.control_dependencies([counter.assign_add(1)]):
            return tf.add_n([*inputs, tf.constant(1.0)], name=name)

    counters: dict[str, tf.Variable] = {}
    a = node("a")
    b = node("b", a)
    c = node("c", a)
    d = node("d", b)
    node("e", d, c)
    f = node("f", b, c)
    with tf.Session() as s:
        s.run(tf.initialize_all_variables())
        # Figure 6 feeds b:0 and fetches f:0; a still runs, since c needs it.
        assert s.run("f:0", {"b:0": 10.0}) == 10.0 + 2.0 + 1.0
        ran = [name for name, count in s.run(counters).items() if count]
        assert s.run(f) == 2.0 + 2.0 + 1.0
    assert ran == ["a", "c", "f"]
