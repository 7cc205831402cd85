"""Checks in graphs (TF: tf.debugging)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
