"""Record files without a graph (TF: tf.python_io)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
