"""Sequence-to-sequence models (TF: tf.contrib.seq2seq)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
