"""Metrics under their names in TensorFlow 1.0 and before (TF: tf.contrib.metrics).

The streaming ones take `(predictions, labels)`, in this order, and return `(value, update_op)` like those of
tf.metrics.
"""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
