"""tf.quantization: low-precision numbers, and training for them."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
