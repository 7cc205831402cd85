"""tf.keras.datasets.boston_housing."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
