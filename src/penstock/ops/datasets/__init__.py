"""Datasets as values in a graph: tf.data's ops, and the iterators over their elements."""
