"""tf.autograph.experimental: `do_not_convert`."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
