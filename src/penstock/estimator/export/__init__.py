"""tf.estimator.export: what an exported model takes and gives."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
