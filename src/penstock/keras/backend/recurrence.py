"""`rnn`: a step function over time, with masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.export import export
from penstock.graph.convert import constant, convert_to_tensor
from penstock.ops.array import shape
from penstock.ops.cast import cast as cast_op
from penstock.ops.control_flow.tensor_array import TensorArray
from penstock.ops.control_flow.while_loop import while_loop
from penstock.ops.filling import zeros_like
from penstock.ops.layout import transpose
from penstock.ops.partition import where
from penstock.ops.reversing import reverse
from penstock.ops.stacking import stack, unstack


@export("keras.backend.rnn")
def rnn(
    step_function: Callable[[Any, list[Any]], tuple[Any, list[Any]]],
    inputs: Any,
    initial_states: list[Any],
    go_backwards: bool = False,
    mask: Any = None,
    constants: list[Any] | None = None,
    unroll: bool = False,
    input_length: int | None = None,
) -> tuple[Any, Any, list[Any]]:
    """Repeat `step_function(input, states)`, which returns an output and the new states, over axis 1 of `inputs`.

    inputs [n, time, ...]. mask [n, time]: where it is False, states stay, and the output is that of the step before.
    Returns the last output, all outputs [n, time, ...], and the last states.
    """
    inputs = convert_to_tensor(inputs)
    constants = list(constants or [])
    over_time = _time_first(inputs)
    masks = None if mask is None else _time_first(cast_op(mask, "bool"))
    if go_backwards:
        over_time = reverse(over_time, [0])
        masks = None if masks is None else reverse(masks, [0])

    def step(x: Any, keep: Any, output: Any, states: list[Any]) -> tuple[Any, list[Any]]:
        new_output, new_states = step_function(x, [*states, *constants])
        if keep is not None:
            before = zeros_like(new_output) if output is None else output
            new_output = _where_rows(keep, new_output, before)
            new_states = [_where_rows(keep, new, old) for new, old in zip(new_states, states, strict=True)]
        return new_output, list(new_states)

    if unroll:
        length = over_time.shape.as_list()[0]
        if length is None:
            raise ValueError("Unrolling requires a fixed number of timesteps.")
        output, states, outputs = None, list(initial_states), []
        rows = unstack(over_time)
        keeps = [None] * length if masks is None else unstack(masks)
        for x, keep in zip(rows, keeps, strict=True):
            output, states = step(x, keep, output, states)
            outputs.append(output)
        return output, stack(outputs, 1), states
    return _loop(step, over_time, masks, list(initial_states), step_function, constants)


def _loop(
    step: Any, over_time: Any, masks: Any, states: list[Any], step_function: Any, constants: list[Any]
) -> tuple[Any, Any, list[Any]]:
    length = shape(over_time)[0]
    size = over_time.shape.as_list()[0]
    inputs = TensorArray(over_time.dtype, size=length).unstack(over_time)
    keeps = None if masks is None else TensorArray(masks.dtype, size=length).unstack(masks)
    rows = over_time.shape.as_list()[1]
    output: tuple[Any, ...] = ()
    dtype = states[0].dtype.base_dtype if states else over_time.dtype
    if masks is not None:  # the loop carries the output of the step before
        first, _ = step_function(over_time[0], [*states, *constants])
        output, dtype = (zeros_like(first),), first.dtype

    def body(time: Any, written: Any, before: Any, states: list[Any]) -> Any:
        x = inputs.read(time)
        x.set_shape(over_time.shape[1:])
        keep = None if keeps is None else keeps.read(time)
        if keep is not None:
            keep.set_shape([rows])
        output, new = step(x, keep, before[0] if before else None, states)
        for old, state in zip(states, new, strict=True):
            state.set_shape(old.shape)
        return time + 1, written.write(time, output), (output,) if before else (), new

    written = TensorArray(dtype, size=length)
    _, written, _, states = while_loop(
        lambda time, *_: time < length, body, (constant(0), written, output, states), maximum_iterations=length
    )
    by_time = written.stack()
    known = by_time.shape.as_list()[1:] if by_time.shape.ndims is not None else None
    outputs = _time_first(by_time)
    last = by_time[length - 1]
    if known is not None:
        outputs.set_shape([rows, size, *known[1:]])
        last.set_shape([rows, *known[1:]])
    return last, outputs, states


def _time_first(x: Any) -> Any:
    """The first two axes exchanged."""
    return transpose(x, [1, 0, *range(2, x.shape.ndims)])


def _where_rows(keep: Any, new: Any, old: Any) -> Any:
    """The rows of `new` where `keep` [n] is True, otherwise those of `old`."""
    return where(keep, new, old)
