"""tf.estimator.experimental: hooks that end training early."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
