"""Datasets as values in a graph: what tf.data's ops make, and the iterators that give their elements."""
