"""Recurrent cells with a grid of cells in each step (TF: tf.contrib.grid_rnn)."""

from penstock.api.namespace import open_namespace
from penstock.api.old_paths import add_inner_paths

open_namespace(__name__)
add_inner_paths(__name__, "python.ops.grid_rnn_cell")
