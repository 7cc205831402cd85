"""Tensors as messages and constants (TF: tf.contrib.util)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
