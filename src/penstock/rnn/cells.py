"""Recurrent cells (TF: tf.nn.rnn_cell): plain, GRU, LSTM, and stacks of cells."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from penstock.api.named import named
from penstock.client.trackable import TrackableReference
from penstock.client.variable_scope import get_variable, get_variable_scope, variable_scope
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.old_names import old_arguments
from penstock.ops.arithmetic import add, multiply
from penstock.ops.clip import clip_by_value
from penstock.ops.control_flow.nest import is_sequence
from penstock.ops.joining import concat, split
from penstock.ops.matrix import matmul
from penstock.ops.slicing import slice as slice_
from penstock.ops.unary import sigmoid, tanh
from penstock.rnn.base import RNNCell
from penstock.rnn.linear import Linear, last_size, linear_of_state

F = TypeVar("F", bound=Callable[..., Any])


@export("rnn_cell.LSTMStateTuple", "contrib.rnn.LSTMStateTuple")
class LSTMStateTuple(namedtuple("LSTMStateTuple", ("c", "h"))):
    """The state of an LSTM: the cells' memory `c` and their output `h`, [batch, units] each."""

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """The dtype of both. Raises TypeError if they differ."""
        c, h = self
        if c.dtype != h.dtype:
            raise TypeError(f"Inconsistent internal state: {c.dtype} vs {h.dtype}")
        return c.dtype


def _activation(given: Any) -> Any:
    return tanh if given is None else named("activations", given)


_GATED = "self num_units input_size activation"
_BASIC_LSTM = "self num_units forget_bias input_size state_is_tuple activation"
_LSTM = (
    "self num_units input_size use_peepholes cell_clip initializer num_proj num_unit_shards num_proj_shards "
    "forget_bias state_is_tuple activation"
)


def _has_input_size(input_size: Any = False, activation: Any = None, **_: Any) -> bool:
    """Whether what was the size of the inputs before TensorFlow 1.0 is given in its place: nothing else that may be
    there is an integer, or None before a function."""
    is_size = isinstance(input_size, int) and not isinstance(input_size, bool)
    return is_size or (input_size is None and callable(activation))


def _has_input_size_or_none(input_size: Any = False, **_: Any) -> bool:
    return not isinstance(input_size, bool)  # today's flag in that place


def _once_with_input_size(cell: str, order: str, told_by: Callable[..., bool]) -> Callable[[F], F]:
    name = f"tf.nn.rnn_cell.{cell}"
    return old_arguments(name, f"{name} without input_size", order=order, told_by=told_by)


@export("rnn_cell.BasicRNNCell", "contrib.rnn.BasicRNNCell")
class BasicRNNCell(RNNCell):
    """output = new state = act(W [inputs, state] + b)."""

    @old_arguments(
        "tf.nn.rnn_cell.BasicRNNCell",
        "tf.nn.rnn_cell.BasicRNNCell without input_size",
        order=_GATED,
        told_by=_has_input_size,
    )
    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        input_size: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units, self._activation = num_units, _activation(activation)

    @property
    def state_size(self) -> int:
        return self._num_units

    @property
    def output_size(self) -> int:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Tensor]:
        output = self._activation(linear_of_state(inputs, state, self._num_units, self._num_units))
        return output, output


@export("rnn_cell.GRUCell", "contrib.rnn.GRUCell")
class GRUCell(RNNCell):
    """Gated recurrent unit: r, u = sigmoid(...), new state = u state + (1 - u) act(W [inputs, r state] + b).

    bias_initializer: None starts the gates' bias at 1 (nothing is reset at first) and the candidate's at 0.
    """

    @_once_with_input_size("GRUCell", _GATED, _has_input_size)
    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
        input_size: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units, self._activation = num_units, _activation(activation)
        self._kernel_initializer = named("initializers", kernel_initializer)
        self._bias_initializer = named("initializers", bias_initializer)

    @property
    def state_size(self) -> int:
        return self._num_units

    @property
    def output_size(self) -> int:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Tensor]:
        units, kernel, bias = self._num_units, self._kernel_initializer, self._bias_initializer
        with variable_scope("gates"):
            start = 1.0 if bias is None else bias
            gates = Linear([inputs, state], 2 * units, True, start, kernel, state_size=units)
        with variable_scope("candidate"):
            candidate = Linear([inputs, state], units, True, bias, kernel, state_size=units)
        r, u = split(sigmoid(gates([inputs, state])), 2, 1)
        c = self._activation(candidate([inputs, r * state]))
        new_state = u * state + (1 - u) * c
        return new_state, new_state


@export("rnn_cell.BasicLSTMCell", "contrib.rnn.BasicLSTMCell")
class BasicLSTMCell(RNNCell):
    """LSTM without peepholes, clipping or projection; the gates in the kernel are in the order i, j, f, o.

    c' = c sigmoid(f + forget_bias) + sigmoid(i) act(j); h' = act(c') sigmoid(o). The state is an
    `LSTMStateTuple`, or with `state_is_tuple=False` both concatenated, [batch, 2 num_units].
    """

    @old_arguments(
        "tf.nn.rnn_cell.BasicLSTMCell",
        "tf.nn.rnn_cell.BasicLSTMCell without input_size",
        order=_BASIC_LSTM,
        told_by=_has_input_size_or_none,
    )
    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        input_size: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units, self._forget_bias, self._state_is_tuple = num_units, forget_bias, state_is_tuple
        self._activation = _activation(activation)

    @property
    def state_size(self) -> Any:
        units = self._num_units
        return LSTMStateTuple(units, units) if self._state_is_tuple else 2 * units

    @property
    def output_size(self) -> int:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Any]:
        c, h = state if self._state_is_tuple else split(state, 2, 1)
        return self._next(c, linear_of_state(inputs, h, self._num_units, 4 * self._num_units))

    def _next(self, c: Any, gates: Any) -> tuple[Tensor, Any]:
        """The output and the state after the memory `c`, from the four gates [batch, 4 * num_units]."""
        i, j, f, o = split(gates, 4, 1)
        kept = multiply(c, sigmoid(add(f, self._forget_bias)))
        new_c = add(kept, multiply(sigmoid(i), self._activation(j)))
        new_h = multiply(self._activation(new_c), sigmoid(o))
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else concat([new_c, new_h], 1)


@export("rnn_cell.LSTMCell", "contrib.rnn.LSTMCell")
class LSTMCell(RNNCell):
    """LSTM with optional peepholes, clipping of its memory, and projection of its output.

    use_peepholes: the gates see the memory through diagonal weights w_i_diag, w_f_diag, w_o_diag. cell_clip: the bound
    of |c|. num_proj: the size of the output, which is then projected (and bounded by `proj_clip`). num_unit_shards and
    num_proj_shards: accepted, without effect.
    """

    @old_arguments(
        "tf.nn.rnn_cell.LSTMCell",
        "tf.nn.rnn_cell.LSTMCell without input_size",
        order=_LSTM,
        told_by=_has_input_size_or_none,
    )
    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        input_size: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units, self._use_peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
        self._initializer, self._num_proj, self._proj_clip = initializer, num_proj, proj_clip
        self._forget_bias, self._state_is_tuple, self._activation = forget_bias, state_is_tuple, _activation(activation)

    @property
    def state_size(self) -> Any:
        c, h = self._num_units, self.output_size
        return LSTMStateTuple(c, h) if self._state_is_tuple else c + h

    @property
    def output_size(self) -> int:
        return self._num_proj or self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Any]:
        units = self._num_units
        c, h = self._parts(state)
        last_size(inputs)
        peepholes = projection = None
        with variable_scope(get_variable_scope(), initializer=self._initializer, auxiliary_name_scope=False):
            gates = Linear([inputs, h], 4 * units, True, state_size=self.output_size)
            if self._use_peepholes:
                peepholes = [get_variable(f"w_{gate}_diag", [units], c.dtype) for gate in "fio"]
            if self._num_proj is not None:
                with variable_scope("projection"):
                    projection = get_variable("kernel", [units, self._num_proj], c.dtype)
            return self._next(c, gates([inputs, h]), peepholes, projection)

    def _parts(self, state: Any) -> tuple[Any, Any]:
        """The memory and the last output."""
        if self._state_is_tuple:
            c, h = state
            return c, h
        units = self._num_units
        return slice_(state, [0, 0], [-1, units]), slice_(state, [0, units], [-1, self.output_size])

    def _next(self, c: Any, gates: Any, peepholes: Sequence[Any] | None, projection: Any) -> tuple[Tensor, Any]:
        """The output and the state after the memory `c`, from the four gates [batch, 4 * num_units].

        peepholes: w_f_diag, w_i_diag and w_o_diag [num_units], if any; projection: [num_units, num_proj] or None.
        """
        i, j, f, o = split(gates, 4, 1)
        f = f + self._forget_bias
        if peepholes is not None:
            f, i = f + peepholes[0] * c, i + peepholes[1] * c
        new_c = sigmoid(f) * c + sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            new_c = clip_by_value(new_c, -self._cell_clip, self._cell_clip)
        if peepholes is not None:
            o = o + peepholes[2] * new_c
        new_h = sigmoid(o) * self._activation(new_c)
        if projection is not None:
            new_h = matmul(new_h, projection)
            if self._proj_clip is not None:
                new_h = clip_by_value(new_h, -self._proj_clip, self._proj_clip)
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else concat([new_c, new_h], 1)


@export("rnn_cell.MultiRNNCell", "contrib.rnn.MultiRNNCell")
class MultiRNNCell(RNNCell):
    """A stack of cells: the output of each is the input of the next.

    The state is a tuple of theirs, or with `state_is_tuple=False` all of them concatenated. Raises ValueError without
    cells, or if states that are tuples would have to be concatenated.
    """

    def __init__(self, cells: Any, state_is_tuple: bool = True) -> None:
        super().__init__()
        if not is_sequence(cells):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        self._cells, self._state_is_tuple = list(cells), state_is_tuple
        if not state_is_tuple and any(is_sequence(cell.state_size) for cell in cells):
            sizes = [cell.state_size for cell in cells]
            raise ValueError(f"Some cells return tuples of states, but the flag state_is_tuple is not set: {sizes}")

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        return [TrackableReference(f"cell-{i}", cell) for i, cell in enumerate(self._cells)]

    @property
    def state_size(self) -> Any:
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        with name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]):
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        if self._state_is_tuple and (not is_sequence(state) or len(state) != len(self._cells)):
            raise ValueError(f"Expected state to be a tuple of length {len(self._cells)}, but received: {state}")
        new_states, start = [], 0
        for number, cell in enumerate(self._cells):
            with variable_scope(f"cell_{number}"):
                if self._state_is_tuple:
                    part = state[number]
                else:
                    part = slice_(state, [0, start], [-1, cell.state_size])
                    start += cell.state_size
                inputs, new_state = cell(inputs, part)
                new_states.append(new_state)
        return inputs, tuple(new_states) if self._state_is_tuple else concat(new_states, 1)
