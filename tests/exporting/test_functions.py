"""ONNX models of TensorFlow 2's functions compute in onnxruntime what TensorFlow computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import penstock as tf
from tests.graph.test_tensorflow2_functions import RECORDED

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


EXPORTED = [
    "arrays",
    "branch",
    "branch_of_loops",
    "call",
    "case",
    "case_out_of_range",
    "custom_gradient",
    "early_end",
    "einsum",
    "loop",
    "loop_of_branches",
    "loop_without_iterations",
    "lstm",
    "mapped",
    "nested_loops",
    "other_branch",
    "scanned",
    "with_variables",
]


@pytest.mark.parametrize("name", EXPORTED)
def test_calls_branches_and_loops_of_functions_are_exported(name: str) -> None:
    values = {key.split("/")[1]: value for key, value in RECORDED.items() if key.startswith(f"{name}/")}
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(tf.GraphDef.FromString(values["graph"].tobytes()), name="")
        session.run("init")
        feeds = {key: value for key, value in values.items() if key[0] == "x"}
        results: dict[str, Any] = {key: f"{key}:0" for key in values if key[0] == "y"}
        tensors = [graph.get_tensor_by_name(f"{key}:0") for key in feeds]
        outputs = {f"{key}_out": graph.get_tensor_by_name(result) for key, result in results.items()}
        model = tf.to_onnx(outputs, tensors, session)
    runs = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    taken = {node.name for node in runs.get_inputs()}
    for key, found in zip(results, runs.run(None, {k: v for k, v in feeds.items() if k in taken}), strict=True):
        np.testing.assert_allclose(found, values[key], rtol=1e-5, atol=1e-5)


def test_tensors_are_exported_by_the_names_that_sessions_take(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        tf.multiply(x, 3.0, name="y")
    session = tf.Session(graph=graph)  # not the default one, nor is its graph
    module = tf.to_torch("y:0", "x:0", session)
    assert module(torch.tensor([[1.0, -2.0]])).tolist() == [[3.0, -6.0]]
    model = tf.to_onnx(["y"], ["x"], session, str(tmp_path / "model.onnx"))
    assert [(i.name, i.type.tensor_type.elem_type) for i in model.graph.input] == [("x", onnx.TensorProto.FLOAT)]
    assert [o.name for o in model.graph.output] == ["y"]
    with pytest.raises(KeyError, match="z"):
        tf.to_torch("z:0", "x:0", session)
