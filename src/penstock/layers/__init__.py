"""tf.layers: functions and classes that create their own variables."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
