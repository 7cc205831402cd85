"""tf.distribute.experimental: strategies with parameter servers, and over several processes."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
