"""Rearranging tensors (TF: tf.manip)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
