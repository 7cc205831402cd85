"""Sequence-to-sequence models over lists of steps (TF: tf.contrib.legacy_seq2seq, before that tf.nn.seq2seq)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
