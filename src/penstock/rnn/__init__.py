"""Recurrent networks: cells, wrappers of cells, and the functions that run them (TF: tf.nn.rnn_cell, tf.nn)."""

import penstock.ops.gather_tree  # noqa: F401  # of tf.contrib.seq2seq, which is imported only when asked for
