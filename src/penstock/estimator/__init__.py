"""tf.estimator: models as functions, trained, evaluated, used and exported by one object."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
