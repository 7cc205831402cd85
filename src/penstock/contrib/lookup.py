"""Tables from keys to values: words to ids, and back (TF: tf.contrib.lookup)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
