"""Recurrent cells and the functions that run them (TF: tf.contrib.rnn)."""

from __future__ import annotations

from typing import Any

from penstock import absent as _absent, rnn_cell
from penstock.ops.control_flow.nest import flatten
from penstock.rnn.bidirectional import stack_bidirectional_dynamic_rnn as stack_bidirectional_dynamic_rnn
from penstock.rnn.contrib_cells import (
    GRUBlockCell as GRUBlockCell,
    GRUBlockCellV2 as GRUBlockCellV2,
    LayerNormBasicLSTMCell as LayerNormBasicLSTMCell,
    LSTMBlockCell as LSTMBlockCell,
)
from penstock.rnn.contrib_wrappers import (
    AttentionCellWrapper as AttentionCellWrapper,
    CompiledWrapper as CompiledWrapper,
    HighwayWrapper as HighwayWrapper,
)
from penstock.rnn.conv_cells import (
    Conv1DLSTMCell as Conv1DLSTMCell,
    Conv2DLSTMCell as Conv2DLSTMCell,
    Conv3DLSTMCell as Conv3DLSTMCell,
    ConvLSTMCell as ConvLSTMCell,
)
from penstock.rnn.dynamic import swap_batch_and_time
from penstock.rnn.fused import (
    FusedRNNCell as FusedRNNCell,
    FusedRNNCellAdaptor as FusedRNNCellAdaptor,
    LSTMBlockFusedCell as LSTMBlockFusedCell,
    TimeReversedFusedRNN as TimeReversedFusedRNN,
)
from penstock.rnn.gated_cells import (
    CoupledInputForgetGateLSTMCell as CoupledInputForgetGateLSTMCell,
    IntersectionRNNCell as IntersectionRNNCell,
    NASCell as NASCell,
    UGRNNCell as UGRNNCell,
)
from penstock.rnn.linear import linear as _linear  # noqa: F401  (used from outside all the same)
from penstock.rnn.projection import (
    EmbeddingWrapper as EmbeddingWrapper,
    InputProjectionWrapper as InputProjectionWrapper,
    OutputProjectionWrapper as OutputProjectionWrapper,
)
from penstock.rnn.static import (
    stack_bidirectional_rnn as stack_bidirectional_rnn,
    static_bidirectional_rnn as static_bidirectional_rnn,
    static_rnn as static_rnn,
    static_state_saving_rnn as static_state_saving_rnn,
)
from penstock.rnn.steps import batch_size_of
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

transpose_batch_time = swap_batch_and_time
core_rnn_cell = rnn_cell  # the module of cells in TF 1.0


def best_effort_input_batch_size(flat_input: Any) -> Any:
    """The batch size of inputs [time, batch, ...]: an int where known, else an int32 scalar."""
    return batch_size_of(flatten(flat_input), 1)


_absent.tell_in(__name__)
