"""A cell run in a loop whose inputs, state and end are determined by a function (TF: tf.nn.raw_rnn)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.client.variable_scope import variable_scope
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.ops.array import shape
from penstock.ops.compare import logical_not, logical_or
from penstock.ops.control_flow.nest import flatten, map_structure, pack_like, same_structure
from penstock.ops.control_flow.tensor_array import TensorArray
from penstock.ops.control_flow.while_loop import while_loop
from penstock.ops.filling import zeros
from penstock.ops.joining import concat
from penstock.ops.reduce import reduce_all
from penstock.rnn.base import like_cell, zeros_of
from penstock.rnn.steps import batch_size_of, copy_through


@export("nn.raw_rnn")
def raw_rnn(
    cell: Any,
    loop_fn: Callable[[Any, Any, Any, Any], Any],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """(emitted, final state, loop state); emitted values are TensorArrays with elements [batch, ...].

    loop_fn: from (time, cell output, cell state, loop state) to (finished [batch], next input, next state, value to
    emit, loop state). It is first called with (0, None, None, None), for the initial values and the structure, shape
    and dtype of one row of emitted values (None: like the cell's output). Rows that are finished emit zeros and keep
    their state. Raises TypeError for invalid cells or functions.
    """
    like_cell(cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with variable_scope(scope or "rnn"):
        time = convert_to_tensor(0, name="time")
        finished, inputs, state, rows, loop_state = loop_fn(time, None, None, None)
        inputs, state = map_structure(convert_to_tensor, inputs), map_structure(_tensor, state)
        same_structure(cell.state_size, state)
        has_loop_state = loop_state is not None
        loop_state = map_structure(_tensor, loop_state) if has_loop_state else convert_to_tensor(0)
        batch_size = batch_size_of(flatten(inputs), 0)
        if rows is None:
            like, dtypes = cell.output_size, [flatten(state)[0].dtype.base_dtype] * len(flatten(cell.output_size))
            blank = zeros_of(like, batch_size, dtypes[0])
        else:
            like, leaves = rows, [convert_to_tensor(row) for row in flatten(rows)]
            dtypes = [row.dtype.base_dtype for row in leaves]
            blank = pack_like(like, [_blank(row, batch_size) for row in leaves])
        arrays = [TensorArray(d, 0, dynamic_size=True, tensor_array_name="rnn_output") for d in dtypes]

        def body(time: Tensor, ended: Tensor, inputs: Any, written: Any, before: Any, loop_state: Any) -> Any:
            output, cell_state = cell(inputs, before)
            same_structure(before, cell_state)
            given = loop_state if has_loop_state else None
            now_ended, next_inputs, after, emit, new_loop_state = loop_fn(time + 1, output, cell_state, given)
            same_structure(before, after)
            same_structure(inputs, next_inputs)
            same_structure(like, emit)
            emit = copy_through(ended, blank, map_structure(convert_to_tensor, emit))
            after = pack_like(before, flatten(copy_through(ended, before, map_structure(_tensor, after))))
            written = [array.write(time, value) for array, value in zip(written, flatten(emit), strict=True)]
            next_inputs = pack_like(inputs, flatten(next_inputs))
            kept = new_loop_state if has_loop_state else loop_state
            return time + 1, logical_or(ended, now_ended), next_inputs, written, after, kept

        _, _, _, arrays, final, loop_state = while_loop(
            lambda _, ended, *rest: logical_not(reduce_all(ended)),
            body,
            (time, convert_to_tensor(finished), inputs, arrays, state, loop_state),
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )
        return pack_like(like, arrays), final, loop_state if has_loop_state else None


def _tensor(value: Any) -> Any:
    return value if isinstance(value, TensorArray) else convert_to_tensor(value)


def _blank(row: Tensor, batch_size: Any) -> Tensor:
    known = row.shape.is_fully_defined()
    value = zeros(concat([[batch_size], row.shape.as_list() if known else shape(row)], 0), row.dtype)
    if row.shape.ndims is not None:
        value.set_shape([batch_size if isinstance(batch_size, int) else None, *row.shape])
    return value
