"""Recurrent cells and the functions that run them (TF: tf.contrib.rnn)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
