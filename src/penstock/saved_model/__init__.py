"""tf.saved_model: a graph, its variables and its signatures in one folder."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
