"""Heads of models, and estimators with them (TF: tf.contrib.estimator)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
