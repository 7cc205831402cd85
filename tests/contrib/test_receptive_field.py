"""tf.contrib.receptive_field: the numbers that TensorFlow 1.15 gives for small networks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf

convolved, pooled = tf.layers.conv2d, tf.layers.max_pooling2d


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def field(build: Callable[[Any], Any], resolution: Any = None, stop: Any = None) -> Any:
    """Of what a network makes of its input `x`."""
    made = build(tf.placeholder(tf.float32, [1, None, None, 3], name="x"))
    of_graph = tf.contrib.receptive_field.compute_receptive_field_from_graph_def
    return of_graph(tf.get_default_graph(), "x", made, stop, resolution)


def padded(x: Any) -> Any:
    x = convolved(x, 4, 7, strides=2, padding="same")
    return convolved(tf.pad(x, [[0, 0], [1, 2], [3, 1], [0, 0]]), 4, 3, strides=(1, 2))


def branched(x: Any) -> Any:
    a = convolved(x, 4, 3, padding="same")
    b = tf.layers.average_pooling2d(x, 5, 1, padding="same", name="b")
    return pooled(tf.concat([a, b], -1), (3, 2), (2, 2), padding="same")


def depthwise(x: Any) -> Any:
    return tf.nn.depthwise_conv2d(x, tf.get_variable("w", [3, 5, 3, 1]), [1, 2, 2, 1], "VALID")


@pytest.mark.parametrize(("build", "resolution", "stop", "expected"), [
    (lambda x: convolved(pooled(convolved(x, 4, 3, padding="same"), 2, 2), 4, (5, 3)), None, None, [8, 12, 2, 2, 1, 1]),
    (padded, None, None, [11, 11, 4, 2, None, None]),
    (padded, [224, 223], None, [11, 11, 4, 2, 9, 4]),
    (padded, [21, 22], None, [11, 11, 4, 2, 8, 5]),
    (branched, [21, 22], None, [6, 7, 2, 2, 2, 3]),
    (branched, [21, 22], ["b/"], [4, 5, 2, 2, 1, 2]),
    (depthwise, None, None, [5, 3, 2, 2, 0, 0]),
])  # fmt: skip
def test_size_stride_and_padding(build: Any, resolution: Any, stop: Any, expected: list[int | None]) -> None:
    assert list(field(build, resolution, stop)) == expected


def test_coordinates_of_features_are_those_of_the_middles_of_what_they_see() -> None:
    found = field(padded, [224, 223])
    np.testing.assert_array_equal(found.compute_input_center_coordinates([[3, 4]]), [[8.0, 9.0]])
    np.testing.assert_array_equal(found.compute_feature_coordinates([[8.0, 9.0]]), [[3.0, 4.0]])
    np.testing.assert_array_equal(found.compute_input_center_coordinates([[4]], axis=[1]), [[9.0]])
    with pytest.raises(ValueError, match="3 dimensions"):
        found.compute_feature_coordinates([[1.0, 2.0, 3.0]])


def test_weights_by_handle_have_a_window_as_well() -> None:
    with tf.variable_scope("", use_resource=True):
        assert list(field(lambda x: convolved(x, 4, (5, 3)))) == [3, 5, 1, 1, 0, 0]


@pytest.mark.parametrize(("build", "message"), [
    (lambda x: tf.concat([convolved(x, 4, 3), convolved(x, 4, 3, padding="same")], -1), "center shift"),
    (lambda x: convolved(x, 4, 2) + convolved(x, 4, 2, 2), "effective stride"),
    (lambda x: tf.tanh(convolved(x, 4, 3)), "Unknown layer .*Tanh"),
    (lambda x: tf.constant(1.0), "Input node was not found"),
    (lambda x: "nothing", "Output node was not found"),
])  # fmt: skip
def test_networks_without_one_field_are_refused(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        field(build)


def test_the_order_of_computing_tells_the_sizes_on_the_way() -> None:
    x = tf.placeholder(tf.float32, [1, 64, 48, 3], name="x")
    convolved(convolved(x, 4, 3, strides=2, padding="same", name="a"), 4, 4, name="b")
    infos, nodes = tf.contrib.receptive_field.get_compute_order(tf.get_default_graph().as_graph_def(), "x", [64, 48])
    sizes = {
        name: (infos[name].order, infos[name].output_size, infos[name].input_size)
        for name in ("x", "a/Conv2D", "b/BiasAdd")
    }
    assert sizes == {
        "x": (0, [64, 48], None),
        "a/Conv2D": (2, [32, 24], [64, 48]),
        "b/BiasAdd": (5, [29, 21], [29, 21]),
    }
    assert nodes["b/Conv2D"].op == "Conv2D"
