"""Neural network functions (TF: tf.nn)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
