"""Recurrent networks: cells, wrappers of cells, and the functions that run them (TF: tf.nn.rnn_cell, tf.nn)."""
