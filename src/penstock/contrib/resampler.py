"""Images at points between their pixels (TF: tf.contrib.resampler)."""

from penstock.api.namespace import open_namespace
from penstock.api.old_paths import add_inner_paths

open_namespace(__name__)
add_inner_paths(__name__, "python.ops.resampler_ops")
