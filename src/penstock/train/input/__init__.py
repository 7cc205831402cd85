"""Pipelines of queues: what produces file names and indices, and what makes batches (TF: tf.train.batch and kin)."""
