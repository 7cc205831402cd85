"""tf.metrics: the performance of a model over all batches.

Every metric takes `weights`, `metrics_collections` (for the value), `updates_collections` (for the update) and `name`,
and returns `(value, update_op)`: run `update_op` for each batch, and read `value`. The state is in local variables:
run `tf.local_variables_initializer()` first.
"""

from penstock.api.namespace import open_namespace

open_namespace(__name__)
