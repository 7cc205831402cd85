"""Recurrent cells (TF: tf.nn.rnn_cell)."""

from __future__ import annotations

from penstock import absent as _absent
from penstock.rnn.base import RNNCell as RNNCell
from penstock.rnn.cells import (
    BasicLSTMCell as BasicLSTMCell,
    BasicRNNCell as BasicRNNCell,
    GRUCell as GRUCell,
    LSTMCell as LSTMCell,
    LSTMStateTuple as LSTMStateTuple,
    MultiRNNCell as MultiRNNCell,
)
from penstock.rnn.linear import linear as _linear  # noqa: F401  (used from outside all the same)
from penstock.rnn.wrappers import (
    DeviceWrapper as DeviceWrapper,
    DropoutWrapper as DropoutWrapper,
    ResidualWrapper as ResidualWrapper,
)

_absent.tell_in(__name__, "tf.nn.rnn_cell")
