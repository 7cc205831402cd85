"""Recurrent cells (TF: tf.nn.rnn_cell)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
