"""Summaries: what TensorBoard shows of values, graphs and traces (section 9.1; TF: tf.summary)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
