"""Tables from keys to values (TF: tf.lookup)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
