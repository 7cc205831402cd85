"""tf.keras.wrappers.scikit_learn."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
