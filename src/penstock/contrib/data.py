"""Datasets' transformations that `tf.data.Dataset` has no methods for (TF: tf.contrib.data)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
