"""Make tests/data/tensorflow_graph.pb and .npz: a training graph built by TensorFlow, and TensorFlow's numbers.

Run it where TensorFlow is installed: `python tools/make_tensorflow_graph.py tests/data`. The graph is a small
convolutional network with its SGD-with-momentum step; the arrays are its feeds and the results of three steps.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np


def build(tf: Any) -> None:
    """The program, in the TF 1.x API, so Penstock can build it as well."""
    random = np.random.RandomState(0)

    def variable(name: str, *shape: int) -> Any:
        return tf.Variable(random.normal(0, 0.3, shape).astype(np.float32), name=name, use_resource=False)

    x = tf.placeholder(tf.float32, [None, 6, 6, 1], name="x")
    labels = tf.placeholder(tf.int32, [None], name="labels")
    with tf.name_scope("net"):
        h = tf.nn.conv2d(x, variable("kernel", 3, 3, 1, 4), strides=[1, 2, 2, 1], padding="SAME")
        h = tf.nn.relu(tf.nn.bias_add(h, variable("bias", 4)))
        h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
        h = tf.reshape(h, [tf.shape(h)[0], 2 * 2 * 4])
        logits = tf.matmul(tf.tanh(h), variable("dense", 16, 3)) + variable("dense_bias", 3)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses, name="loss")
    tf.argmax(logits, 1, name="predictions")
    tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, name="train")
    tf.global_variables_initializer()


def feeds() -> dict[str, np.ndarray]:
    random = np.random.RandomState(1)
    return {
        "x:0": random.rand(8, 6, 6, 1).astype(np.float32),
        "labels:0": random.randint(0, 3, 8).astype(np.int32),
    }


def run(session: Any) -> dict[str, np.ndarray]:
    """Initialise and train three steps. Returns the losses, the predictions and the trained weights."""
    session.run("init")
    losses = [session.run(["loss:0", "train"], feeds())[0] for _ in range(3)]
    found = session.run(["predictions:0", "net/dense:0", "net/kernel/Momentum:0"], feeds())
    return {"losses": np.array(losses), **dict(zip(["predictions", "dense", "momentum"], found, strict=True))}


def main(folder: Path) -> None:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    with tf.Graph().as_default() as graph:
        build(tf)
        with tf.Session() as session:
            np.savez(folder / "tensorflow_graph.npz", allow_pickle=False, **run(session))
    (folder / "tensorflow_graph.pb").write_bytes(graph.as_graph_def().SerializeToString(deterministic=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
