"""Types of elements (TF: tf.dtypes), and conversions between them."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
