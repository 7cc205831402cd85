"""Wrappers of tf.contrib.rnn that have variables, or do nothing here."""

from __future__ import annotations

from typing import Any

from penstock.client.initializers import constant_initializer
from penstock.client.variable_scope import get_variable, variable_scope
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.ops.array import expand_dims, reshape
from penstock.ops.control_flow.nest import flatten, is_sequence, map_structure, same_structure
from penstock.ops.joining import concat
from penstock.ops.nn.bias import xw_plus_b
from penstock.ops.nn.conv_functions import conv2d
from penstock.ops.nn.softmax import softmax
from penstock.ops.reduce import reduce_sum
from penstock.ops.slicing import slice as slice_
from penstock.ops.unary import sigmoid, tanh
from penstock.rnn.base import RNNCell, like_cell
from penstock.rnn.linear import last_size, linear
from penstock.rnn.wrappers import CellWrapper


@export("contrib.rnn.AttentionCellWrapper")
class AttentionCellWrapper(RNNCell):
    """The cell, attending to its own last `attn_length` outputs (https://arxiv.org/abs/1409.0473).

    attn_size: the size of the outputs, None for the cell's. attn_vec_size: the size of the scoring layer, None for
    attn_size. input_size: the size that inputs and attention are projected to, None for that of the inputs. The state
    is (the cell's, the last attention, the last outputs), or with `state_is_tuple=False` all concatenated. Raises
    ValueError for invalid sizes.
    """

    def __init__(
        self,
        cell: Any,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        like_cell(cell)
        if is_sequence(cell.state_size) and not state_is_tuple:
            raise ValueError(f"Cell returns tuple of states, but the flag state_is_tuple is not set: {cell.state_size}")
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        self._cell, self._attn_length, self._input_size = cell, attn_length, input_size
        self._attn_size: int = cell.output_size if attn_size is None else attn_size
        self._attn_vec_size: int = self._attn_size if attn_vec_size is None else attn_vec_size
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        sizes = (self._cell.state_size, self._attn_size, self._attn_size * self._attn_length)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> int:
        return self._attn_size

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Any]:
        size, length = self._attn_size, self._attn_length
        if self._state_is_tuple:
            state, seen, before = state
        else:
            first, whole = self._cell.state_size, state
            state = slice_(whole, [0, 0], [-1, first])
            seen = slice_(whole, [0, first], [-1, size])
            before = slice_(whole, [0, first + size], [-1, size * length])
        before = reshape(before, [-1, length, size])
        output, new_state = self._cell(linear([inputs, seen], self._input_size or last_size(inputs), True), state)
        query = concat(flatten(new_state), 1) if self._state_is_tuple else new_state
        new_seen = self._attention(query, before)
        with variable_scope("attn_output_projection"):
            output = linear([output, new_seen], size, True)
        kept = concat([before[:, 1:], expand_dims(output, 1)], 1)
        found = (new_state, new_seen, reshape(kept, [-1, length * size]))
        return output, found if self._state_is_tuple else concat(list(found), 1)

    def _attention(self, query: Tensor, before: Tensor) -> Tensor:
        """The mean of the last outputs, [batch, length, size], weighted by the query's attention."""
        size, width = self._attn_size, self._attn_vec_size
        with variable_scope("attention"):
            kernel = get_variable("attn_w", [1, 1, size, width], before.dtype.base_dtype)
            v = get_variable("attn_v", [width], before.dtype.base_dtype)
            hidden = reshape(before, [-1, self._attn_length, 1, size])
            features = conv2d(hidden, kernel, [1, 1, 1, 1], "SAME")
            y = reshape(linear(query, width, True), [-1, 1, 1, width])
            share = softmax(reduce_sum(v * tanh(features + y), [2, 3]))
            mixed = reduce_sum(reshape(share, [-1, self._attn_length, 1, 1]) * hidden, [1, 2])
            return reshape(mixed, [-1, size])


@export("contrib.rnn.HighwayWrapper")
class HighwayWrapper(CellWrapper):
    """output = inputs carry + the cell's output transform, gates of the inputs (https://arxiv.org/abs/1505.00387).

    couple_carry_transform_gates: transform is 1 - carry, otherwise a separate gate. carry_bias_init: the carry gate's
    initial bias; the transform gate's is its negative.
    """

    def __init__(self, cell: Any, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0) -> None:
        super().__init__(cell)
        self._couple, self._start = couple_carry_transform_gates, carry_bias_init

    def _gate(self, what: str, inputs: Tensor, start: float) -> Tensor:
        size, dtype = last_size(inputs), inputs.dtype.base_dtype
        weight = get_variable(f"{what}_w", [size, size], dtype)
        bias = get_variable(f"{what}_b", [size], dtype, constant_initializer(start, dtype=dtype))
        return sigmoid(xw_plus_b(inputs, weight, bias))

    def _highway(self, inputs: Tensor, output: Tensor) -> Tensor:
        inputs.shape.assert_is_compatible_with(output.shape)
        carry = self._gate("carry", inputs, self._start)
        transform = 1 - carry if self._couple else self._gate("transform", inputs, -self._start)
        return inputs * carry + output * transform

    def __call__(self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        outputs, new_state = self._cell(inputs, state, scope)
        same_structure(inputs, outputs)
        return map_structure(self._highway, inputs, outputs), new_state


@export("contrib.rnn.CompiledWrapper")
class CompiledWrapper(CellWrapper):
    """The unchanged cell: there is no XLA to compile it with."""

    def __init__(self, cell: Any, compile_stateful: bool = False) -> None:
        super().__init__(cell)

    def __call__(self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        return self._cell(inputs, state, scope)
