"""A memory budget is kept, or refused with what the step takes at least."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import penstock as tf
from tests.allocator import allocated

SIDE, LAYERS = 128, 24
BYTES = SIDE * SIDE * 4


def _config(budget: int) -> Any:
    config = tf.ConfigProto()
    entry = config.graph_options.rewrite_options.custom_optimizers.add(name="memory_budget")
    entry.parameter_map["bytes"].i = budget
    return config


def _train(config: Any) -> tuple[int, list[np.ndarray]]:
    """The bytes that the allocator gives out in a step, and the variables after four steps."""
    value = np.random.RandomState(0).rand(SIDE, SIDE).astype(np.float32)
    with tf.Graph().as_default() as graph:
        graph.seed = 1
        x = y = tf.placeholder(tf.float32, [SIDE, SIDE])
        for i in range(LAYERS):
            y = tf.layers.dense(y, SIDE, tf.nn.tanh, name=f"layer_{i}")
        train = tf.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_mean(tf.square(y)))
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(4):
                session.run(train, {x: value})
            taken = allocated(lambda: session.run(train, {x: value}))
            return taken, [session.run(variable) for variable in tf.trainable_variables()]  # a budget for each


@pytest.mark.uncompiled
@pytest.mark.parametrize("layers", [40, 20, 14])
def test_a_budget_is_kept_and_variables_are_as_without(layers: int) -> None:
    plain, expected = _train(None)
    assert plain > 40 * BYTES
    taken, variables = _train(_config(layers * BYTES))
    assert taken <= layers * BYTES
    for one, other in zip(variables, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.uncompiled
def test_a_budget_that_cannot_be_kept_is_refused_with_one_that_can() -> None:
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"at least \d+ bytes .* budget of 65536 bytes") as error:
        _train(_config(BYTES))
    found = re.search(r"at least (\d+) bytes", str(error.value))
    assert found is not None
    least = int(found[1])
    assert _train(_config(least))[0] <= 1.02 * least


def test_a_step_that_fits_is_left_as_it_is() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [SIDE, SIDE])
        y = tf.tanh(tf.matmul(x, x)) + x
        with tf.Session() as plain, tf.Session(config=_config(1 << 30)) as bounded:
            graphs = [session.explain(y, [x]).split("def step", 1)[1] for session in (plain, bounded)]
    assert graphs[0] == graphs[1]
