"""Probability distributions (TF: tf.contrib.distributions): those of `tf.distributions`, and a few more."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
