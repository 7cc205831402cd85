"""Dataset transformations that are not methods of `tf.data.Dataset` (TF: tf.contrib.data)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
