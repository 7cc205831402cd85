"""Columns of sequences (TF: tf.contrib.feature_column)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
