"""Writes tests/data/tensorflow_functions.pb with TensorFlow: a graph of datasets that hold functions, and of calls of
functions. Its output is in tests/graph/test_functions.py."""

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import function

tf.disable_v2_behavior()

offset = tf.constant([5.0, 6.0])
rows = tf.data.Dataset.from_tensor_slices(np.arange(6, dtype=np.float32).reshape(3, 2))
rows = rows.map(lambda x: (x * 2 + offset, tf.as_string(tf.shape(x))))
rows = rows.filter(lambda x, y: tf.reduce_sum(x) > 14).batch(2)
rows.make_initializable_iterator().get_next(name="rows")


@function.Defun(tf.float32, tf.float32)
def inner(a: Any, b: Any) -> Any:
    a, b = tf.split(tf.stack([a, b]), 2)
    return a[0] + b[0], a * b


@function.Defun(tf.float32)
def outer(a: Any) -> Any:
    total, product = inner(a, a + 1)
    return product[0] - total


tf.identity(outer(tf.constant(2.0)), name="by_name")
tf.identity(tf.raw_ops.PartitionedCall(args=[tf.constant(5.0)], Tout=[tf.float32], f=outer)[0], name="by_attribute")

with tf.Session() as session:
    print(session.run(["by_name:0", "by_attribute:0"]))
graph = tf.get_default_graph().as_graph_def()
(Path(__file__).parent.parent / "tests" / "data" / "tensorflow_functions.pb").write_bytes(graph.SerializeToString())
