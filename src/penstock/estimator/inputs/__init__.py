"""tf.estimator.inputs: input functions of arrays."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
