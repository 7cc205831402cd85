"""Sets (TF: tf.sets): defined in ops/sets.py, and listed here under the names of TF 1.x and under the short ones."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
