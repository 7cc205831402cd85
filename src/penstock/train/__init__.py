"""Training: optimizers, schedules, checkpoints (TF: tf.train)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
