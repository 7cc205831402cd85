"""Run samples under one framework, line by line: `python -m conformance.runner {tensorflow,penstock} IN OUT`.

The same code runs both, since the API is the same. Each line of IN is a sample (see samples.py), each line of OUT its
result, written immediately: a framework that dies in a sample loses only that one.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import warnings
from typing import Any

import numpy as np

from conformance.values import from_json, to_json


def framework(name: str) -> Any:
    if name == "penstock":
        import penstock

        return penstock
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    import tensorflow.compat.v1 as tf

    tf.disable_eager_execution()
    tf.get_logger().setLevel("ERROR")
    return tf


def run_sample(tf: Any, sample: dict[str, Any]) -> dict[str, Any]:
    """The framework's result for a sample.

    "shapes" are those inferred where inputs are constants (or "build error"), "unknown" where they are
    placeholders of unknown shape; "values" (or "error", a class name) come from a run of the latter, and
    "gradients" from a run of its gradient (None where there is none, or a class name).
    """
    result: dict[str, Any] = {"op": sample["op"]}
    if sample["constant"]:
        try:
            ys = import_graph(tf, tf.Graph(), sample["constant"], sample["fetches"])
            result["shapes"] = [shape_of(y) for y in ys]
        except Exception as error:
            result["shapes"] = "build error"
            result["build"] = f"{type(error).__name__}: {message_of(error)}"
    graph = tf.Graph()
    try:
        try:
            ys = import_graph(tf, graph, sample["graph"], sample["fetches"])
        except ValueError:
            if result.get("shapes", "build error") == "build error":
                raise
            # TensorFlow cannot build a few ops with inputs of unknown shape: constants give the values, then.
            graph = tf.Graph()
            ys = import_graph(tf, graph, sample["constant"], sample["fetches"])
            with tf.Session(graph=graph, config=plain(tf)) as session:
                result["values"] = [to_json(v) for v in session.run(ys) if v is not None]
            return result
        result["unknown"] = [shape_of(y) for y in ys]
        feeds = {name: from_json(value) for name, value in sample["feeds"].items()}
        with tf.Session(graph=graph, config=plain(tf)) as session:
            values = session.run(ys, feeds)
            result["values"] = [to_json(v) for v in values if v is not None]
            if sample["differentiate"]:
                result["gradients"] = gradients(tf, graph, session, sample, ys, values, feeds)
    except Exception as error:
        result["error"] = type(error).__name__
        result["message"] = message_of(error)
    return result


def message_of(error: Exception) -> str:
    """The error without its location: TensorFlow wraps it in the location, twice."""
    return str(error).split("Node: 'sample'\n")[-1].split("\n\t [[")[0].split("\n\n")[0][:300]


def plain(tf: Any) -> Any:
    """A session that runs the op without optimisation, on one thread; or compiled, if PENSTOCK_COMPILE is set."""
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = os.environ.get("PENSTOCK_COMPILE") != "on"
    return config


def import_graph(tf: Any, graph: Any, text: str, fetches: list[str]) -> list[Any]:
    proto = tf.GraphDef()
    proto.ParseFromString(base64.b64decode(text))
    with graph.as_default():
        tf.import_graph_def(proto, name="")
    return [graph.as_graph_element(name) for name in fetches]


def shape_of(y: Any) -> Any:
    shape = getattr(y, "shape", None)
    return shape.as_list() if shape is not None and shape.ndims is not None else None


def gradients(tf: Any, graph: Any, session: Any, sample: Any, ys: Any, values: Any, feeds: Any) -> Any:
    """Gradients for fixed, uneven output gradients, so symmetry cannot hide an error."""
    try:
        with graph.as_default():
            chosen = [(y, v) for y, v in zip(ys, values, strict=True) if y.dtype.is_floating]
            weights = [tf.constant(np.cos(np.arange(v.size)).reshape(v.shape).astype(v.dtype)) for _, v in chosen]
            xs = [graph.as_graph_element(name) for name in sample["differentiate"]]
            found = [
                None if g is None else tf.convert_to_tensor(g)
                for g in tf.gradients([y for y, _ in chosen], xs, grad_ys=weights)
            ]
        return [None if g is None else to_json(session.run(g, feeds)) for g in found]
    except Exception as error:
        return f"{type(error).__name__}: {message_of(error)}"


def main() -> None:
    name, source, target = sys.argv[1:]
    warnings.simplefilter("ignore")
    tf = framework(name)
    with open(source) as samples, open(target, "a", buffering=1) as results:
        for line in samples:
            results.write(json.dumps(run_sample(tf, json.loads(line))) + "\n")


if __name__ == "__main__":
    main()
