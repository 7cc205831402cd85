"""tf.contrib.distribute: training on several devices."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
