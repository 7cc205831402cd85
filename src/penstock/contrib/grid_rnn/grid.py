"""A grid of recurrent cells, one for each dimension, as one cell (https://arxiv.org/abs/1507.01526)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock import logging
from penstock.client.variable_scope import get_variable, get_variable_scope, variable_scope
from penstock.contrib.layers.dense import fully_connected
from penstock.contrib.layers.initializers import xavier_initializer
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.ops.array import shape
from penstock.ops.filling import zeros
from penstock.ops.joining import concat, split
from penstock.ops.matrix import matmul
from penstock.ops.nn.activations import relu
from penstock.ops.slicing import slice as slice_
from penstock.rnn.base import RNNCell
from penstock.rnn.cells import LSTMCell


@export("contrib.grid_rnn.GridRNNCell")
class GridRNNCell(RNNCell):
    """A step of a grid: along each of `num_dims` dimensions a cell takes one step from the others' outputs.

    input_dims, output_dims, priority_dims, non_recurrent_dims: numbers of dimensions, or lists of them: which take
    a part each of the inputs, projected to `num_units`; whose outputs are the output; which come last, from the new
    outputs of the others; which are layers with the activation `non_recurrent_fn` (relu), without a state. tied: all
    share their weights. cell_fn(num_units): a cell, by default an LSTMCell. state_is_tuple, output_is_tuple: False for
    matrices of all parts side by side. Raises ValueError for a dimension that is not there, TypeError if `cell_fn`
    returns no cell.
    """

    def __init__(
        self,
        num_units: int,
        num_dims: int = 1,
        input_dims: Any = None,
        output_dims: Any = None,
        priority_dims: Any = None,
        non_recurrent_dims: Any = None,
        tied: bool = False,
        cell_fn: Callable[[int], Any] | None = None,
        non_recurrent_fn: Callable[[Any], Any] | None = None,
        state_is_tuple: bool = True,
        output_is_tuple: bool = True,
    ) -> None:
        super().__init__()
        for what, is_tuple in (("state", state_is_tuple), ("output", output_is_tuple)):
            if not is_tuple:
                logging.warning("%s: a concatenated %s is slower. Use %s_is_tuple=True.", self, what, what)
        if num_dims < 1:
            raise ValueError(f"dims must be >= 1: {num_dims}")
        self._num_units, self._num_dims, self._tied = num_units, num_dims, tied
        self._inputs, self._outputs = _dims(input_dims, num_dims), _dims(output_dims, num_dims)
        self._last, flat = _dims(priority_dims, num_dims), _dims(non_recurrent_dims, num_dims)
        self._first_dims = [i for i in range(num_dims) if i not in self._last]
        self._recurrent = [i for i in range(num_dims) if i not in flat]
        self._activation = non_recurrent_fn or relu
        self._state_is_tuple, self._output_is_tuple = state_is_tuple, output_is_tuple

        def make() -> Any:
            return LSTMCell(num_units, state_is_tuple=state_is_tuple) if cell_fn is None else cell_fn(num_units)

        self._cells: list[Any] = [make()] * num_dims if tied else [make() for _ in range(num_dims)]
        if not isinstance(self._cells[0], RNNCell):
            raise TypeError(f"cell_fn must return an RNNCell instance, saw: {type(self._cells[0])}")

    @property
    def _sizes(self) -> list[int]:
        """The sizes of the parts of a cell's state."""
        size = self._cells[0].state_size
        return list(size) if isinstance(size, tuple) else [size]

    @property
    def state_size(self) -> Any:
        if self._state_is_tuple:
            return tuple(self._cells[0].state_size for _ in self._recurrent)
        return sum(self._sizes) * len(self._recurrent)

    @property
    def output_size(self) -> Any:
        size = self._cells[0].output_size
        return tuple(size for _ in self._outputs) if self._output_is_tuple else size * len(self._outputs)

    def __call__(self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """(output, new state) from inputs [batch, n], or [batch, 0] for none, and a state."""
        memories, values = self._parts_of(state)
        outputs: list[Any] = [None] * self._num_dims
        states: list[Any] = [None] * self._num_dims
        with variable_scope(scope or type(self).__name__):
            self._project(inputs, memories, values)
            for dims in (self._first_dims, self._last):
                self._propagate(dims, memories, values, outputs, states)
            output: Any = tuple(outputs[i] for i in self._outputs)
            new_state: Any = tuple(states[i] for i in self._recurrent)
            if not self._output_is_tuple:
                output = concat(list(output), 1) if output else zeros([0, 0], inputs.dtype)
            if not self._state_is_tuple:
                parts = [part for each in new_state for part in (each if isinstance(each, tuple) else (each,))]
                new_state = concat(parts, 1) if parts else zeros([0, 0], inputs.dtype)
        return output, new_state

    def _parts_of(self, state: Any) -> tuple[list[Any], list[Any]]:
        """The memory (None without one) and the last output of each dimension; None where it has no state."""
        memories: list[Any] = [None] * self._num_dims
        values: list[Any] = [None] * self._num_dims
        held = self._has_memory()
        if not self._state_is_tuple:
            state = self._cut(state, held)
        elif len(state) != len(self._recurrent):
            raise ValueError(f"Expected state as a tuple of {len(self._recurrent)} element")
        for i, part in zip(self._recurrent, state, strict=True):
            if held:
                memories[i], values[i] = part
            else:
                values[i] = part
        return memories, values

    def _has_memory(self) -> bool:
        return sum(self._sizes) > self._num_units

    def _cut(self, state: Any, held: bool) -> list[Any]:
        """The state of each recurrent dimension, from that of all side by side."""
        whole, units = sum(self._sizes), self._num_units
        cut: list[Any] = []
        for n in range(len(self._recurrent)):
            first = slice_(state, [0, n * whole], [-1, units])
            cut.append((first, slice_(state, [0, n * whole + units], [-1, whole - units])) if held else first)
        return cut

    def _project(self, inputs: Any, memories: list[Any], values: list[Any]) -> None:
        """The dimensions that take inputs have these, projected, for memory and last output."""
        if inputs is None or not self._inputs or not inputs.shape.with_rank(2)[1].value:
            return
        parts = split(inputs, len(self._inputs), 1)
        size = parts[0].shape[1].value
        for part, i in zip(parts, self._inputs, strict=True):
            kernel = get_variable(f"project_m_{i}", [size, self._num_units], inputs.dtype)
            values[i] = matmul(part, kernel)
            if self._has_memory():
                kernel = get_variable(f"project_c_{i}", [size, self._num_units], inputs.dtype)
                memories[i] = matmul(part, kernel)

    def _propagate(
        self, dims: Sequence[int], memories: list[Any], values: list[Any], outputs: list[Any], states: list[Any]
    ) -> None:
        """A step along each of `dims`. What the last dimension gave last is the state that a cell starts from, what the
        others gave its input."""
        if not dims:
            return
        given = [value if output is None else output for value, output in zip(values, outputs, strict=True)]
        if self._num_dims > 1:
            seen = concat(given[:-1], 1)
        else:
            rows = values[0].shape.as_list()[0]
            seen = zeros([shape(values[0])[0] if rows is None else rows, 0], values[0].dtype)
        for i in dims:
            if i in self._recurrent:
                with self._scope_of("recurrent", i, i is dims[0] and dims is self._first_dims):
                    held = given[-1] if memories[i] is None else (memories[i], given[-1])
                    outputs[i], states[i] = self._cells[i](seen, held)
            else:
                with self._scope_of("non_recurrent", i, i is dims[0] and dims is self._first_dims):
                    outputs[i] = self._layer(concat([seen, given[-1]], 1) if self._num_dims > 1 else given[-1])

    def _scope_of(self, kind: str, dim: int, first: bool) -> Any:
        return variable_scope(
            kind if self._tied else f"{kind}/cell_{dim}", reuse=True if self._tied and not first else None
        )

    def _layer(self, x: Any) -> Tensor:
        scope = get_variable_scope()
        initializer = scope.initializer or xavier_initializer()
        return fully_connected(
            x,
            self._num_units,
            self._activation,
            weights_initializer=initializer,
            weights_regularizer=scope.regularizer,
        )


def _dims(given: Any, number: int) -> list[int]:
    """The dimensions in order. Raises ValueError for one that is not there."""
    found = sorted(set(given if isinstance(given, list | tuple) else [] if given is None else [given]))
    if any(dim < 0 or dim >= number for dim in found):
        raise ValueError(f"Invalid dims: {found}. Must be in [0, {number})")
    return found
