"""Two cells over a tensor, one from each end (TF: tf.nn.bidirectional_dynamic_rnn), and stacks of such layers."""

from __future__ import annotations

from typing import Any

from penstock.client.variable_scope import variable_scope
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.ops.control_flow.nest import flatten, map_structure
from penstock.ops.joining import concat
from penstock.ops.reversing import reverse, reverse_sequence
from penstock.rnn.base import like_cell
from penstock.rnn.dynamic import dynamic_rnn


@export("nn.bidirectional_dynamic_rnn")
def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """((outputs forward, backward), (final state forward, backward)) for `inputs` [batch, time, ...].

    The backward cell starts at the last step (of each row, by `sequence_length`); its outputs are put back in
    the order of the inputs.
    """
    like_cell(cell_fw)
    like_cell(cell_bw)
    options: dict[str, Any] = {
        "parallel_iterations": parallel_iterations,
        "swap_memory": swap_memory,
        "time_major": time_major,
    }
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def turned(x: Tensor) -> Tensor:
        if sequence_length is None:
            return reverse(x, [time_axis])
        return reverse_sequence(x, convert_to_tensor(sequence_length), seq_axis=time_axis, batch_axis=batch_axis)

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw:
            forward, state_fw = dynamic_rnn(
                cell_fw, inputs, sequence_length, initial_state_fw, dtype, scope=fw, **options
            )
        with variable_scope("bw") as bw:
            inputs = map_structure(lambda value: turned(convert_to_tensor(value)), inputs)
            found, state_bw = dynamic_rnn(
                cell_bw, inputs, sequence_length, initial_state_bw, dtype, scope=bw, **options
            )
    return (forward, map_structure(turned, found)), (state_fw, state_bw)


@export("contrib.rnn.stack_bidirectional_dynamic_rnn")
def stack_bidirectional_dynamic_rnn(
    cells_fw: list[Any],
    cells_bw: list[Any],
    inputs: Any,
    initial_states_fw: list[Any] | None = None,
    initial_states_bw: list[Any] | None = None,
    dtype: Any = None,
    sequence_length: Any = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: Any = None,
    swap_memory: bool = False,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """(outputs, final states forward, backward) of layers of `bidirectional_dynamic_rnn`.

    Each layer gets both outputs of the one below, concatenated (TF: tf.contrib.rnn.stack_bidirectional_dynamic_rnn).
    Raises ValueError for lists of different lengths.
    """
    for what, given in {"cells_fw": cells_fw, "cells_bw": cells_bw}.items():
        if not isinstance(given, list) or not given:
            raise ValueError(f"{what} must be a list of RNNCells (one per layer), not empty")
    starts_fw, starts_bw = initial_states_fw or [None] * len(cells_fw), initial_states_bw or [None] * len(cells_bw)
    if not len(cells_fw) == len(cells_bw) == len(starts_fw) == len(starts_bw):
        raise ValueError("forward and backward cells and initial states must be as many")
    states_fw, states_bw = [], []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for number, (fw, bw) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with variable_scope(f"cell_{number}"):
                outputs, (state_fw, state_bw) = bidirectional_dynamic_rnn(
                    fw,
                    bw,
                    inputs,
                    sequence_length,
                    starts_fw[number],
                    starts_bw[number],
                    dtype,
                    parallel_iterations,
                    swap_memory,
                    time_major,
                )
                inputs = concat([leaf for output in outputs for leaf in flatten(output)], 2)
                states_fw.append(state_fw)
                states_bw.append(state_bw)
    return inputs, tuple(states_fw), tuple(states_bw)
