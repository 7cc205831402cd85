"""Which values have one shape, whatever it is: by the shape rules of their ops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.analysis.shape_classes import ShapeClasses
from penstock.graph import shape_rules
from penstock.graph.opdef import OpDef, registered_ops
from penstock.graph.step_graph import Edge, StepGraph
from penstock.passes.infer_shapes import infer_shapes
from penstock.passes.prune import prune

X = np.random.default_rng(0).uniform(0.1, 0.9, (3, 4)).astype(np.float32)
FLOAT_FUNCTIONS = [
    op
    for op in registered_ops().values()
    if op.shape_fn is shape_rules.unchanged
    and [arg.type_attr for arg in (*op.inputs, *op.outputs)] == ["T", "T"]
    and not (op.stateful or any(arg.is_ref for arg in op.inputs))
    and (op.attrs["T"].allowed is None or tf.float32 in op.attrs["T"].allowed)
]
REQUIRED = {"CheckNumerics": {"message": "x"}}


@pytest.fixture(autouse=True)
def _own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _same(a: Any, b: Any, *feeds: Any) -> bool:
    graph: StepGraph = prune(list(feeds), [a, b], [])
    first, second = graph.fetches
    return ShapeClasses(graph).same(first, second)


@pytest.mark.uncompiled  # bits are compared
@pytest.mark.parametrize("op", FLOAT_FUNCTIONS, ids=lambda op: op.name)
def test_a_function_of_each_element_keeps_the_shape_and_a_reshape_to_it_changes_no_value(op: OpDef) -> None:
    x = tf.placeholder(tf.float32)
    y = op(x, **REQUIRED.get(op.name, {}))
    assert _same(x, y, x)
    shaped = tf.reshape(y, tf.shape(x)) * 1.0
    off = tf.ConfigProto()
    off.graph_options.rewrite_options.disable_meta_optimizer = True
    found, plain = (tf.Session(config=config).run([shaped, y], {x: X}) for config in (None, off))
    np.testing.assert_array_equal(found[0], plain[1])
    np.testing.assert_array_equal(found[1], plain[1])


def test_what_is_broadcast_has_the_shape_of_the_input_that_the_other_adds_nothing_to() -> None:
    x, scalar, other = tf.placeholder(tf.float32), tf.constant(2.0), tf.placeholder(tf.float32)
    assert _same(tf.atan2(x, scalar), x, x) and _same(tf.igamma(scalar, x), x, x)
    assert _same(tf.truncatemod(x, tf.exp(x)), x, x)
    assert not _same(tf.atan2(x, other), x, x, other)


def test_what_is_asked_for_in_the_shape_of_another_value_has_its_shape() -> None:
    x = tf.placeholder(tf.float32)
    shape = tf.shape(x)
    for made in (
        tf.fill(shape, 2.0),
        tf.random_uniform(shape),
        tf.truncated_normal(shape),
        tf.broadcast_to(1.0, shape),
    ):
        assert _same(made, x, x), made.op.type


def test_ops_with_rules_of_their_own_say_so_as_well() -> None:
    x, b = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.float32, [None])
    for made in (
        tf.nn.softmax(x),
        tf.nn.bias_add(x, b),
        tf.cumsum(x, 1),
        tf.reverse(x, [0]),
        tf.clip_by_value(x, 0.0, 1.0),
        tf.fake_quant_with_min_max_args(x),
        tf.manip.roll(x, 1, 0),
    ):
        assert _same(made, x, x, b), made.op.type
    assert not _same(tf.transpose(x), x, x)


def test_a_variable_has_no_shape_in_common_with_what_was_read_of_it() -> None:
    """With validate_shape=False each assignment may give it another one."""
    variable = tf.Variable([1.0, 2.0], validate_shape=False)
    graph = prune([], [tf.identity(variable), tf.assign(variable, [1.0], validate_shape=False)], [])
    classes = ShapeClasses(infer_shapes(graph))
    read = graph.fetches[0]
    assert not any(classes.same(read, Edge(n, 0)) for n in graph.nodes if n.op.traits.holds == "variable")


def test_a_dropout_of_unknown_shape_has_its_inputs_shape() -> None:
    x = tf.placeholder(tf.float32)
    assert _same(tf.nn.dropout(x, 0.5), x, x)
