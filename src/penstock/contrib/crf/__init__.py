"""Linear-chain conditional random fields (TF: tf.contrib.crf)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
