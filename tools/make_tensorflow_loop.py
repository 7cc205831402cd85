"""Make tests/data/tensorflow_loop.pb and .npz: TF V1 control flow with gradients, and TensorFlow's numbers.

Run it where TensorFlow is installed: `python tools/make_tensorflow_loop.py tests/data`. The graph is a loop with a
conditional in it and a conditional with a loop in it, as Switch, Merge, Enter, Exit and NextIteration nodes, and their
gradients by `tf.gradients`; the arrays are the results for `feeds()`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

FETCHES = ["steps:0", "looped:0", "chosen:0", "loss:0", "grad_x:0", "grad_w:0"]


def build(tf: Any) -> None:
    """The program, in the TF 1.x API, so Penstock can build it as well."""
    x = tf.placeholder(tf.float32, [3], name="x")
    w = tf.placeholder(tf.float32, [3, 3], name="w")
    n = tf.placeholder(tf.int32, [], name="n")

    def body(i: Any, v: Any) -> Any:
        product = tf.reshape(tf.matmul(tf.reshape(v, [1, 3]), w), [3])
        grown = tf.cond(tf.equal(tf.mod(i, 2), 0), lambda: tf.tanh(product) + x, lambda: v * v - product)
        return i + 1, grown

    steps, looped = tf.while_loop(lambda i, v: i < n, body, [tf.constant(0), x])
    tf.identity(steps, name="steps")
    looped = tf.identity(looped, name="looped")

    def powers() -> Any:
        return tf.while_loop(lambda j, p: j < n, lambda j, p: (j + 1, p * x), [tf.constant(1), x])[1]

    chosen = tf.identity(tf.cond(n > 2, powers, lambda: tf.exp(x)), name="chosen")
    loss = tf.reduce_sum(looped * chosen, name="loss")
    grad_x, grad_w = tf.gradients(loss, [x, w])
    tf.identity(grad_x, name="grad_x")
    tf.identity(grad_w, name="grad_w")


def feeds(n: int) -> dict[str, np.ndarray]:
    random = np.random.RandomState(2)
    return {
        "x:0": random.uniform(0.2, 1.2, 3).astype(np.float32),
        "w:0": random.normal(0, 0.5, (3, 3)).astype(np.float32),
        "n:0": np.array(n, np.int32),
    }


def run(session: Any) -> dict[str, np.ndarray]:
    """The graph's results for no iteration, a few, and more."""
    return {
        f"{name.partition(':')[0]}_{n}": value
        for n in (0, 1, 2, 5)
        for name, value in zip(FETCHES, session.run(FETCHES, feeds(n)), strict=True)
    }


def main(folder: Path) -> None:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    tf.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        build(tf)
        with tf.Session() as session:
            np.savez(folder / "tensorflow_loop.npz", allow_pickle=False, **run(session))
    (folder / "tensorflow_loop.pb").write_bytes(graph.as_graph_def().SerializeToString(deterministic=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
