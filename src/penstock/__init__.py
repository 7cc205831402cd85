"""Penstock: the dataflow system of the TensorFlow white paper.

`import penstock as tf` and write TF 1.x programs: build a graph, then run parts of it in a session. See
docs/architecture.md for how a step is built, docs/adding-an-op.md for your own ops.
"""

from penstock.api.namespace import open_namespace
from penstock.devices.processors import limit_threads as _limit_threads

open_namespace(__name__)
_limit_threads()
