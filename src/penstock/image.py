"""Images: files, sizes, colours, boxes (TF: tf.image)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
