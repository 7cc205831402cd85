"""Pipelines of queues: producers of file names and indices, and batching (TF: tf.train.batch and related ops)."""
