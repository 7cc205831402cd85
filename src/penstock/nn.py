"""Neural network functions (TF: tf.nn)."""

import sys

from penstock import rnn_cell
from penstock.api.namespace import open_namespace

__path__: list[str] = []  # `from tensorflow.nn.rnn_cell import LSTMStateTuple`: a module inside, though it is no folder
sys.modules[f"{__name__}.rnn_cell"] = rnn_cell
del rnn_cell, sys

open_namespace(__name__)
