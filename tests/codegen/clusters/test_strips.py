"""The text of strips: what it repeats, how much memory its values take, how long a strip is."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import torch

import penstock as tf
from penstock.codegen.clusters.cluster_kernel import make_cluster_kernel
from penstock.codegen.clusters.program import program_of
from penstock.codegen.clusters.strips import SHORT_STRIP, STRIP, c_source
from penstock.graph.step_graph import Node
from tests.codegen import steps


def _node(y: Any, x: Any) -> Node:
    (node,) = steps.clusters(steps.clustered([y], [x]))
    return node


def _text(node: Node) -> str:
    return c_source(program_of(node.attrs["body"]), "F").text


def _chain(pairs: int) -> Node:
    with tf.Graph().as_default():
        x = y = tf.placeholder(tf.float32, [None])
        for factor in np.linspace(1.1, 1.3, pairs):
            y = tf.tanh(y) * float(factor)
        return _node(y, x)


def _all_at_once(count: int) -> Node:
    """Values of which all are needed at the end."""
    with tf.Graph().as_default():
        x = y = tf.placeholder(tf.float32, [None])
        values = []
        for _ in range(count):
            y = tf.tanh(y)
            values.append(y)
        for value in values:
            y = y + value * 0.5
        return _node(y, x)


def test_loops_that_a_chain_repeats_are_compiled_once() -> None:
    few, many = (_text(_chain(pairs)) for pairs in (20, 200))
    assert few.count("VECTOR") == many.count("VECTOR")


def test_the_values_of_a_chain_take_the_memory_of_two() -> None:
    (size,) = re.findall(r"char memory\[(\d+)\]", _text(_chain(200)))
    assert int(size) <= 2 * STRIP * 4 + 1


def test_strips_of_many_values_are_shorter_and_compute_the_same() -> None:
    node = _all_at_once(100)
    assert f"at += {SHORT_STRIP})" in _text(node) and f"at += {STRIP})" in _text(_all_at_once(10))
    x = np.random.default_rng(0).normal(size=1000)
    y, values = x, []
    for _ in range(100):
        y = np.tanh(y)
        values.append(y)
    wanted = y + sum(0.5 * value for value in values)
    kernel = make_cluster_kernel(node, torch.device("cpu"), steps.new_state(), "on")
    np.testing.assert_allclose(kernel(torch.from_numpy(x.astype(np.float32))).numpy(), wanted, rtol=1e-4)
