"""Decoders in loops, and attention (TF: tf.contrib.seq2seq)."""
