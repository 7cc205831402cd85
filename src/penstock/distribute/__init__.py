"""Training on several devices (TF: tf.distribute)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
