"""Tests of graphs: TestCase, and gradients compared with finite differences (TF: tf.test)."""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
