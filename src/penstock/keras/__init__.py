"""tf.keras, as graph programs use it."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
