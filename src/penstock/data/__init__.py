"""Input pipelines as parts of a graph: datasets and their iterators (TF: tf.data)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
