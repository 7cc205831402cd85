"""PLACE: chooses the device that each node runs on (white paper sections 3.2.1 and 4.3).

Public as `tf.placement`: `configure` a session's strategy, `register_strategy` to add your own, `simulate_step` on real
or hypothetical `Hardware`, `compare_strategies`, `compress_transfers` of one tensor.
"""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
