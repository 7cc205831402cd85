"""Types of elements (TF: tf.dtypes), and what makes one of another."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
