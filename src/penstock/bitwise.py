"""Bits of integers (TF: tf.bitwise)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
