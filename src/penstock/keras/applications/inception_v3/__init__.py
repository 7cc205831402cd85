"""tf.keras.applications.inception_v3."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
