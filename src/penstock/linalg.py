"""Linear algebra (TF: tf.linalg)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
