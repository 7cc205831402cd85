"""Losses with the predictions first, as TF 0.x had them (TF: tf.contrib.losses)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
