"""A cell run over a list of inputs, one copy of it per step (TF: tf.nn.static_rnn, tf.nn.rnn)."""

from __future__ import annotations

from typing import Any

from penstock.client.variable_scope import variable_scope
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import control_dependencies
from penstock.ops.basic import identity
from penstock.ops.compare import greater_equal
from penstock.ops.control_flow.nest import flatten, is_sequence, map_structure, pack_like, same_structure
from penstock.ops.filling import zeros_like
from penstock.ops.joining import concat
from penstock.ops.reversing import reverse_sequence
from penstock.ops.stacking import stack, unstack
from penstock.rnn.base import like_cell, zeros_of
from penstock.rnn.steps import batch_size_of, checked_lengths, copy_through, initial_state_of, state_dtype


@export("nn.rnn", "nn.static_rnn", "contrib.rnn.static_rnn")
def static_rnn(
    cell: Any,
    inputs: Any,
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """(outputs, final state): the cell over `inputs`, a list of [batch, n] (or of nests of them).

    sequence_length: int [batch]; beyond it a row's outputs are zero and its state stays unchanged. Raises TypeError or
    ValueError for other inputs, or without both `initial_state` and `dtype`.
    """
    like_cell(cell)
    if not is_sequence(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    inputs = [map_structure(convert_to_tensor, step) for step in inputs]
    outputs = []
    with variable_scope(scope or "rnn") as varscope:
        batch_size = batch_size_of(flatten(inputs[0]), 0)
        state = initial_state_of(cell, initial_state, batch_size, dtype)
        lengths = checked_lengths(sequence_length, batch_size)
        zero_output = None
        if lengths is not None:
            zero_output = zeros_of(cell.output_size, batch_size, state_dtype(dtype, state))
        for time, step in enumerate(inputs):
            if time > 0:
                varscope.reuse_variables()
            output, new_state = cell(step, state)
            if lengths is not None:
                if time == 0:  # a cell's results may have a different dtype or size than it declares
                    zero_output = map_structure(
                        lambda zero, value: zero if zero.dtype == value.dtype else zeros_like(value),
                        zero_output,
                        output,
                    )
                done = greater_equal(time, lengths)
                output, new_state = copy_through(done, zero_output, output), copy_through(done, state, new_state)
            same_structure(state, new_state)
            state = new_state
            outputs.append(output)
    return outputs, state


@export("nn.state_saving_rnn", "nn.static_state_saving_rnn", "contrib.rnn.static_state_saving_rnn")
def static_state_saving_rnn(
    cell: Any, inputs: Any, state_saver: Any, state_name: Any, sequence_length: Any = None, scope: Any = None
) -> tuple[list[Any], Any]:
    """`static_rnn` that starts from `state_saver.state(name)` and passes the final state to its `save_state`.

    state_name: a name, or a nest of names like the cell's state. The outputs wait until the state is saved.
    """
    if is_sequence(cell.state_size) != is_sequence(state_name):
        raise ValueError("state_name should be the same type as cell.state_size")
    initial = map_structure(state_saver.state, state_name)
    outputs, state = static_rnn(cell, inputs, initial, sequence_length=sequence_length, scope=scope)
    saves = [state_saver.save_state(n, s) for n, s in zip(flatten(state_name), flatten(state), strict=True)]
    with control_dependencies(saves):
        outputs[-1] = map_structure(identity, outputs[-1])
    return outputs, state


@export("nn.bidirectional_rnn", "nn.static_bidirectional_rnn", "contrib.rnn.static_bidirectional_rnn")
def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any, Any]:
    """(outputs, final state forward, final state backward): two cells, one from each end.

    The outputs of both are concatenated, [batch, forward + backward] each.
    """
    like_cell(cell_fw)
    like_cell(cell_bw)
    if not isinstance(inputs, list):
        raise TypeError("inputs must be a list")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw:
            forward, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, fw)
        with variable_scope("bw") as bw:
            turned = _turned(inputs, sequence_length)
            found, state_bw = static_rnn(cell_bw, turned, initial_state_bw, dtype, sequence_length, bw)
    backward = _turned(found, sequence_length)
    pairs = zip(forward, backward, strict=True)
    outputs = [map_structure(lambda a, b: concat([a, b], 1), one, other) for one, other in pairs]
    return outputs, state_fw, state_bw


def _turned(steps: list[Any], lengths: Any) -> list[Any]:
    """The steps from the last to the first, within the first `lengths[row]` if given."""
    if lengths is None:
        return list(reversed(steps))
    lengths = convert_to_tensor(lengths)
    columns = []
    for leaves in zip(*map(flatten, steps), strict=True):
        joined: Tensor = stack(list(map(convert_to_tensor, leaves)))
        turned = unstack(reverse_sequence(joined, lengths, seq_axis=0, batch_axis=1), num=len(leaves))
        columns.append(turned)
    return [pack_like(steps[0], list(leaves)) for leaves in zip(*columns, strict=True)]


@export("contrib.rnn.stack_bidirectional_rnn")
def stack_bidirectional_rnn(
    cells_fw: list[Any],
    cells_bw: list[Any],
    inputs: list[Any],
    initial_states_fw: list[Any] | None = None,
    initial_states_bw: list[Any] | None = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], tuple[Any, ...], tuple[Any, ...]]:
    """(outputs, final states forward, backward) of layers of `static_bidirectional_rnn`.

    Each layer gets both outputs of the one below, concatenated (TF: tf.contrib.rnn.stack_bidirectional_rnn). Raises
    ValueError for lists of different lengths.
    """
    for what, given in {"cells_fw": cells_fw, "cells_bw": cells_bw}.items():
        if not isinstance(given, list) or not given:
            raise ValueError(f"{what} must be a list of RNNCells (one per layer), not empty")
    starts_fw, starts_bw = initial_states_fw or [None] * len(cells_fw), initial_states_bw or [None] * len(cells_bw)
    if not len(cells_fw) == len(cells_bw) == len(starts_fw) == len(starts_bw):
        raise ValueError("forward and backward cells and initial states must be as many")
    states_fw, states_bw = [], []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        layers = zip(cells_fw, cells_bw, starts_fw, starts_bw, strict=True)
        for number, (fw, bw, start_fw, start_bw) in enumerate(layers):
            with variable_scope(f"cell_{number}"):
                inputs, state_fw, state_bw = static_bidirectional_rnn(
                    fw, bw, inputs, start_fw, start_bw, dtype, sequence_length
                )
                states_fw.append(state_fw)
                states_bw.append(state_bw)
    return inputs, tuple(states_fw), tuple(states_bw)
