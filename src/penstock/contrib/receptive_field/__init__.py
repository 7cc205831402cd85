"""What the outputs of convolutional networks depend on (TF: tf.contrib.receptive_field)."""

from penstock.api.namespace import open_namespace
from penstock.api.old_paths import add_inner_paths

open_namespace(__name__)
add_inner_paths(__name__, "receptive_field_api")
