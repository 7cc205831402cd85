"""Extracting parts of GraphDefs, freezing and trimming them (TF: tf.graph_util)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
