"""tf.keras.optimizers.schedules."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
