"""RNNs over all steps at once, time-major (TF: tf.contrib.rnn.FusedRNNCell and related classes)."""

from __future__ import annotations

from typing import Any

from penstock.client.variable_scope import get_variable_scope, variable_scope
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.ops.reversing import reverse, reverse_sequence
from penstock.ops.stacking import stack, unstack
from penstock.rnn.contrib_cells import LSTMBlockCell
from penstock.rnn.dynamic import dynamic_rnn
from penstock.rnn.static import static_rnn


@export("contrib.rnn.FusedRNNCell")
class FusedRNNCell:
    """(outputs, final state) for inputs [time, batch, n], or a list of [batch, n]; outputs have the same form.

    Either `initial_state` or `dtype` must be given. sequence_length: int [batch]; beyond it outputs are zero and the
    state stays unchanged.
    """

    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
    ) -> tuple[Any, Any]:
        raise NotImplementedError("Abstract method")


@export("contrib.rnn.FusedRNNCellAdaptor")
class FusedRNNCellAdaptor(FusedRNNCell):
    """Makes any cell a fused one, using `static_rnn`, or `dynamic_rnn` with `use_dynamic_rnn`."""

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False) -> None:
        self._cell, self._use_dynamic_rnn = cell, use_dynamic_rnn

    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
    ) -> tuple[Any, Any]:
        is_list = isinstance(inputs, list)
        if self._use_dynamic_rnn:
            joined = stack(inputs) if is_list else inputs
            outputs, state = dynamic_rnn(
                self._cell, joined, sequence_length, initial_state, dtype, time_major=True, scope=scope
            )
            return unstack(outputs) if is_list else outputs, state
        steps = inputs if is_list else unstack(inputs)
        outputs, state = static_rnn(self._cell, steps, initial_state, dtype, sequence_length, scope)
        return outputs if is_list else stack(outputs), state


@export("contrib.rnn.TimeReversedFusedRNN")
class TimeReversedFusedRNN(FusedRNNCell):
    """A fused cell that goes from the last step (of each row) to the first; outputs are in the inputs' order."""

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
    ) -> tuple[Any, Any]:
        turned = _turned(inputs, sequence_length)
        outputs, state = self._cell(turned, initial_state, dtype, sequence_length, scope=scope)
        return _turned(outputs, sequence_length), state


def _turned(value: Any, lengths: Any) -> Any:
    if isinstance(value, list):
        return list(reversed(value))
    if lengths is None:
        return reverse(value, [0])
    return reverse_sequence(value, convert_to_tensor(lengths), seq_axis=0, batch_axis=1)


@export("contrib.rnn.LSTMBlockFusedCell")
class LSTMBlockFusedCell(FusedRNNCell):
    """An LSTM over all steps with the name and arguments of TensorFlow's fused one; its scope is "lstm_fused_cell",
    or "lstm_fused_cell_1" and so on if that is taken.

    cell_clip: the bound of the memory (-1 or None: none). use_peephole: the gates see the memory.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: Any = None,
        use_peephole: bool = False,
        reuse: Any = None,
        dtype: Any = None,
        name: str = "lstm_fused_cell",
    ) -> None:
        self._cell = LSTMBlockCell(num_units, forget_bias, cell_clip, use_peephole, dtype, reuse, name)

    @property
    def name(self) -> str:
        return str(self._cell._name)

    @property
    def num_units(self) -> int:
        return self._cell.output_size

    @property
    def variables(self) -> list[Any]:
        return self._cell.variables

    @property
    def trainable_variables(self) -> list[Any]:
        return self._cell.trainable_variables

    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
    ) -> tuple[Any, Any]:
        is_list = isinstance(inputs, list)
        value = convert_to_tensor(stack(inputs) if is_list else inputs, name="inputs")
        if initial_state is None:
            dtype = dtype or value.dtype.base_dtype
        if self._cell._scope is None:  # here, since scopes that are reopened, as below, count names from the start
            self._cell._open_scope(scope)
        with variable_scope(get_variable_scope(), auxiliary_name_scope=False) as outer:
            outputs, state = dynamic_rnn(
                self._cell, value, sequence_length, initial_state, dtype, time_major=True, scope=outer
            )
        return unstack(outputs) if is_list else outputs, state
