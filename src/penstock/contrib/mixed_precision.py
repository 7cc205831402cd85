"""Loss scaling before tf.train.experimental (TF: tf.contrib.mixed_precision)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
