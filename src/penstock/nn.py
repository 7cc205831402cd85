"""Neural network functions (TF: tf.nn)."""

import importlib
import sys

from penstock.api.namespace import open_namespace

__path__: list[str] = []  # `from tensorflow.nn.rnn_cell import LSTMStateTuple`: a module inside, though it is no folder
sys.modules[f"{__name__}.rnn_cell"] = importlib.import_module("penstock.rnn_cell")
del importlib, sys

open_namespace(__name__)
