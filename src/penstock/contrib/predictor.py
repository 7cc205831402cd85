"""tf.contrib.predictor: exported models and Estimators as functions of arrays."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
