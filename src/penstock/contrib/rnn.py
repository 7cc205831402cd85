"""Recurrent cells and the functions that run them (TF: tf.contrib.rnn)."""

from __future__ import annotations

from penstock.rnn.bidirectional import stack_bidirectional_dynamic_rnn as stack_bidirectional_dynamic_rnn
from penstock.rnn.contrib_cells import (
    GRUBlockCell as GRUBlockCell,
    GRUBlockCellV2 as GRUBlockCellV2,
    LayerNormBasicLSTMCell as LayerNormBasicLSTMCell,
    LSTMBlockCell as LSTMBlockCell,
)
from penstock.rnn.linear import linear as _linear  # noqa: F401  (used from outside all the same)
from penstock.rnn.projection import (
    EmbeddingWrapper as EmbeddingWrapper,
    InputProjectionWrapper as InputProjectionWrapper,
    OutputProjectionWrapper as OutputProjectionWrapper,
)
from penstock.rnn.static import (
    static_bidirectional_rnn as static_bidirectional_rnn,
    static_rnn as static_rnn,
    static_state_saving_rnn as static_state_saving_rnn,
)
from penstock.rnn_cell import (
    BasicLSTMCell as BasicLSTMCell,
    BasicRNNCell as BasicRNNCell,
    DeviceWrapper as DeviceWrapper,
    DropoutWrapper as DropoutWrapper,
    GRUCell as GRUCell,
    LSTMCell as LSTMCell,
    LSTMStateTuple as LSTMStateTuple,
    MultiRNNCell as MultiRNNCell,
    ResidualWrapper as ResidualWrapper,
    RNNCell as RNNCell,
)
