"""Frozen graphs are made smaller, and compute what they computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.graph.inference_graph import (
    ensure_graph_is_valid,
    fold_batch_norms,
    node_from_map,
    node_name_from_input,
    optimize_for_inference,
    values_from_const,
)
from penstock.graph.strip_unused import strip_unused

RNG = np.random.RandomState(0)
IMAGES = RNG.uniform(-1, 1, (2, 6, 6, 4)).astype(np.float32)


def parameters(channels: int) -> list[np.ndarray]:
    """Scale, offset, mean and variance."""
    return [RNG.uniform(low, 2, channels).astype(np.float32) for low in (-2, -2, -2, 0.1)]


def fused(h: Any, training: bool = False) -> Any:
    scale, offset, mean, variance = parameters(h.shape[3].value)
    seen = (None, None) if training else (mean, variance)
    return tf.nn.fused_batch_norm(h, scale, offset, *seen, is_training=training, epsilon=0.01, name="norm")[0]


def older(graph_def: Any) -> Any:
    """The graph with the op of 2015 for the same normalisation."""
    found = tf.GraphDef.FromString(graph_def.SerializeToString())
    (node,) = [node for node in found.node if node.op.startswith("FusedBatchNorm")]
    h, scale, offset, mean, variance = node.input
    node.op, node.input[:] = "BatchNormWithGlobalNormalization", [h, mean, variance, offset, scale]
    epsilon, dtype = node.attr["epsilon"].f, node.attr["T"].type
    node.attr.clear()
    node.attr["variance_epsilon"].f, node.attr["T"].type = epsilon, dtype
    node.attr["scale_after_normalization"].b = True
    return found


def conv(x: Any) -> Any:
    filters = RNG.normal(size=(3, 3, 4, 5)).astype(np.float32)
    return tf.nn.conv2d(x, filters, strides=[1, 1, 1, 1], padding="SAME", name="conv")


def depthwise(x: Any) -> Any:
    filters = RNG.normal(size=(3, 3, 4, 2)).astype(np.float32)
    return tf.nn.depthwise_conv2d(x, filters, strides=[1, 1, 1, 1], padding="VALID", name="conv")


def run(graph_def: Any, x: np.ndarray = IMAGES, output: str = "out:0") -> np.ndarray:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        found: np.ndarray = session.run(output, {graph.get_tensor_by_name("x:0"): x})
        return found


def frozen(build: Any) -> Any:
    with tf.Graph().as_default() as graph:
        tf.identity(tf.nn.relu(tf.identity(build(tf.placeholder(tf.float32, [None, 6, 6, 4], "x")))), "out")
        return graph.as_graph_def()


@pytest.mark.parametrize("build", [conv, depthwise])
@pytest.mark.parametrize("written", [lambda graph_def: graph_def, older], ids=["fused", "older"])
def test_convolutions_take_in_the_normalisation_after_them(build: Any, written: Any) -> None:
    before = frozen(lambda x: fused(build(x)))
    after = optimize_for_inference(written(before), ["x"], ["out"], tf.float32.as_datatype_enum)
    ops = [node.op for node in after.node]
    assert "BiasAdd" in ops and not any("Norm" in op for op in ops)
    assert len(ops) < len(before.node)
    assert [node.name for node in after.node if node.op == "Identity"] == ["out"]
    np.testing.assert_allclose(run(after), run(before), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: fused(conv(x), training=True),
        lambda x: (lambda h: fused(h) + h)(conv(x)),
        lambda x: fused(tf.nn.relu(conv(x))),
    ],
    ids=["training", "used elsewhere", "another op between"],
)
def test_normalisations_that_are_not_only_of_a_convolution_stay(build: Any) -> None:
    before = frozen(build)
    after = fold_batch_norms(before, ["out"])
    assert any("Norm" in node.op for node in after.node)
    np.testing.assert_allclose(run(after), run(before), rtol=1e-5, atol=1e-6)


def test_an_epsilon_that_a_file_leaves_out_is_the_default() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 6, 6, 4], "x")
        small = np.full(5, 1e-4, np.float32)
        h = tf.nn.fused_batch_norm(conv(x), small, small, small, small, is_training=False, epsilon=1e-4, name="norm")[0]
        tf.identity(h, "out")
        before = tf.train.export_meta_graph(graph=graph, strip_default_attrs=True).graph_def
    assert not any("epsilon" in node.attr for node in before.node)
    np.testing.assert_allclose(run(fold_batch_norms(before, ["out"])), run(before), rtol=1e-4, atol=1e-6)


def test_what_outputs_do_not_need_goes_and_inputs_become_placeholders() -> None:
    before = frozen(lambda x: tf.nn.relu(tf.square(x, "middle")) + 0 * tf.reduce_sum(x))
    after = strip_unused(before, ["middle"], ["Relu"], tf.float32)
    assert {node.name: node.op for node in after.node} == {"middle": "Placeholder", "Relu": "Relu"}
    with pytest.raises(KeyError, match="not found: none"):
        strip_unused(before, ["none"], ["out"], tf.float32)
    with pytest.raises(ValueError, match="without :0"):
        strip_unused(before, ["x:0"], ["out"], tf.float32)


def test_programs_import_it_under_tensorflows_path() -> None:
    from penstock.python.tools import optimize_for_inference_lib, strip_unused_lib

    assert optimize_for_inference_lib.optimize_for_inference is optimize_for_inference
    assert strip_unused_lib.strip_unused is strip_unused


def test_nodes_are_found_by_what_inputs_call_them() -> None:
    assert [node_name_from_input(text) for text in ("a/b", "a/b:1", "^a/b", "a:b")] == ["a/b", "a/b", "a/b", "a:b"]
    with tf.Graph().as_default() as graph:
        tf.negative(tf.constant([1.0, 2.0], name="c"), name="n")
    message = graph.as_graph_def()
    nodes = {node.name: node for node in message.node}
    assert node_from_map(nodes, nodes["n"].input[0]) is nodes["c"]
    assert values_from_const(nodes["c"]).tolist() == [1, 2]
    ensure_graph_is_valid(message)
    for wrong in (lambda: node_from_map(nodes, "m"), lambda: values_from_const(nodes["n"])):
        with pytest.raises(ValueError, match=r"should be a Const|No node named"):
            wrong()
    nodes["n"].input[0] = "d:1"
    with pytest.raises(ValueError, match="Input for n not found: d:1"):
        ensure_graph_is_valid(message)
    message.node.add(name="n")
    with pytest.raises(ValueError, match="Duplicate"):
        ensure_graph_is_valid(message)
