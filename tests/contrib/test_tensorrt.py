"""Graphs for TensorRT are what TensorFlow for CPUs makes of them: what the outputs need."""

from __future__ import annotations

import pytest

import penstock as tf
from penstock.contrib import tensorrt as trt


def _graph() -> tf.Graph:
    graph = tf.Graph()
    with graph.as_default():
        y = tf.nn.relu(tf.placeholder(tf.float32, [None, 2], name="x") + 1.0, name="y")
        tf.identity(y, name="unused")
    return graph


def test_a_graph_keeps_what_its_outputs_need() -> None:
    graph = _graph()
    for outputs in (["y"], ["y:0"], [graph.get_tensor_by_name("y:0")]):
        made = trt.create_inference_graph(graph.as_graph_def(), outputs, max_batch_size=1, precision_mode="fp16")
        assert [node.name for node in made.node] == ["x", "add/y", "add", "y"]  # as TensorFlow 1.15.5
    with tf.Graph().as_default(), tf.Session() as session:
        (y,) = tf.import_graph_def(made, return_elements=["y:0"], name="")
        assert session.run(y, {"x:0": [[1.0, -3.0]]}).tolist() == [[2.0, 0.0]]


def test_what_cannot_be_converted_is_refused() -> None:
    with pytest.raises(ValueError, match="precision mode 'INT9' is not supported"):
        trt.create_inference_graph(_graph().as_graph_def(), ["y"], precision_mode="INT9")
    with pytest.raises(NotImplementedError, match="convert_variables_to_constants"):
        trt.create_inference_graph(None, None, input_saved_model_dir="model")


def test_programs_import_it_as_a_module() -> None:
    assert trt.trt_convert.create_inference_graph is trt.create_inference_graph
    assert tf.contrib.tensorrt is trt
