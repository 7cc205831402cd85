"""Buffers between the steps of a pipeline (TF: tf.contrib.staging)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
