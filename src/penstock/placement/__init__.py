"""PLACE: which device each node runs on (white paper sections 3.2.1 and 4.3).

As `tf.placement`: `configure` a session's strategy, `register_strategy` one of your own, `simulate_step` on real or
imagined `Hardware`, `compare_strategies`, `compress_transfers` of one tensor.
"""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
