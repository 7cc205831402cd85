"""Graphs that train with the rounding of 8-bit inference (TF: tf.contrib.quantize)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
