"""Layers that run a cell over time (TF: tf.keras.layers.RNN, LSTM, GRU, SimpleRNN)."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from penstock.client.variable import Variable
from penstock.export import export
from penstock.graph.scopes import counted_as, more_nodes
from penstock.keras import backend as K, regularizers
from penstock.keras.engine.arguments import parameters_of
from penstock.keras.engine.layer import Layer
from penstock.keras.engine.topology import layer_from
from penstock.keras.layers.cells import Cell, GRUCell, LSTMCell, SimpleRNNCell, StackedRNNCells, takes_constants
from penstock.keras.layers.recurrent_nodes import nodes_of
from penstock.keras.named import described
from penstock.keras.nested import flat
from penstock.ops.array import shape
from penstock.ops.filling import zeros
from penstock.tensor.shapes import TensorShape


@export("keras.layers.RNN")
class RNN(Layer):
    """A cell over the steps of [n, time, features]: the last output, or with `return_sequences` all of them.

    The cell is a layer with `call(inputs, states)`, which returns an output and new states, and `state_size`.
    return_state: the last states as well. go_backwards: from the last step to the first. stateful: a batch begins with
    the states that the one before ended with; it needs a fixed batch size. Steps that a mask excludes change nothing.
    A call may give `constants`, tensors that are the same in all steps, if the cell's call takes them.
    """

    supports_masking = True

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        **kwargs: Any,
    ) -> None:
        if "input_length" in kwargs or "input_dim" in kwargs:
            given = (kwargs.pop("input_length", None), kwargs.pop("input_dim", None))
            kwargs.setdefault("input_shape", given)
        if isinstance(cell, list | tuple):
            cell = StackedRNNCells(list(cell))
        super().__init__(**kwargs)
        self.cell = cell
        self.return_sequences, self.return_state = return_sequences, return_state
        self.go_backwards, self.stateful, self.unroll = go_backwards, stateful, unroll
        self._states: list[Any] | None = None
        self._constants = 0

    @property
    def state_size(self) -> list[Any]:
        return flat(self.cell.state_size)

    def _sizes_of_states(self, step: list[Any]) -> list[list[Any]]:
        """For each state its sizes without the batch, if those of a step's inputs are `step`."""
        of_cell = getattr(self.cell, "sizes_of_states", None)
        return of_cell(step) if of_cell else [TensorShape(size).as_list() for size in self.state_size]

    @property
    def states(self) -> list[Any]:
        """The variables with the states of a stateful layer."""
        return self._states if self._states is not None else [None] * len(self.state_size)

    @states.setter
    def states(self, states: Any) -> None:
        self._states = states

    def build(self, input_shape: Any) -> None:
        shapes = input_shape if isinstance(input_shape, list) else [input_shape]
        sizes = TensorShape(shapes[0]).as_list()
        step = TensorShape([sizes[0], *sizes[2:]])
        self.cell._build_once([step, *shapes[-self._constants :]] if self._constants else step)
        if self.stateful:
            if sizes[0] is None:
                raise ValueError(
                    "If a RNN is stateful, it needs to know its batch size. Specify the batch size of your input "
                    "tensors: with `batch_input_shape` in the first layer, or `batch_shape` of an Input."
                )
            self._states = [
                Variable(np.zeros([sizes[0], *of_state], K.floatx()), trainable=False, name=f"state_{i}")
                for i, of_state in enumerate(self._sizes_of_states(sizes[2:]))
            ]
            more_nodes(len(self._states))  # TensorFlow's variables of Keras are resources

    def __call__(self, inputs: Any, initial_state: Any = None, constants: Any = None, **kwargs: Any) -> Any:
        if constants is not None:
            if not takes_constants(self.cell):
                raise ValueError("RNN cell does not support constants: its `call` has no argument of that name.")
            self._constants = len(flat(constants))
        given = [*flat(inputs), *flat(initial_state), *flat(constants)]
        return super().__call__(given if len(given) > 1 else given[0], **kwargs)

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        given = flat(inputs)
        end = len(given) - self._constants
        x, states, constants = given[0], given[1:end], given[end:]
        mask = flat(mask)[0] if mask is not None else None
        if training is None and isinstance(self.cell, Cell) and (self.cell.dropout or self.cell.recurrent_dropout):
            K.learning_phase()  # which is made once, for all that follows
        nodes = nodes_of(self, mask is not None, bool(states))
        with contextlib.nullcontext() if nodes is None else counted_as(nodes):
            return self._result(x, states, constants, mask, training)

    def _result(self, x: Any, states: list[Any], constants: Any, mask: Any, training: Any) -> Any:
        if not states:
            own = self._states if self.stateful else None
            states = [state.value() for state in own] if own else self._zeros(x)
        if len(states) != len(self.state_size):
            raise ValueError(f"Layer has {len(self.state_size)} states but was passed {len(states)} initial states.")
        last, outputs, states = self._run(x, states, constants, mask, training)
        if self.stateful and self._states:
            self.add_update([own.assign(new).op for own, new in zip(self._states, states, strict=True)])
        result = outputs if self.return_sequences else last
        return [result, *states] if self.return_state else result

    def _run(self, x: Any, states: list[Any], constants: Any, mask: Any, training: Any) -> tuple[Any, Any, list[Any]]:
        cell = self.cell
        if isinstance(cell, Cell):  # all inputs are projected before the loop
            cell.begin(cell._sizes_of_mask(x) if cell.dropout else [], states, training)

            def step(x: Any, states: list[Any]) -> tuple[Any, list[Any]]:
                return cell.step(x, states, training)

            x = cell.project(x, training)
        else:
            if isinstance(cell, StackedRNNCells):
                cell.begin([shape(x)[0], x.shape.as_list()[-1]], states)
            arguments = {"training": training} if "training" in parameters_of(type(cell).call) else {}
            if constants:
                arguments["constants"] = constants

            def step(x: Any, states: list[Any]) -> tuple[Any, list[Any]]:
                output, new = cell.call(x, states, **arguments)
                return output, flat(new)

        return K.rnn(step, x, states, self.go_backwards, mask, unroll=self.unroll)

    def _zeros(self, x: Any) -> list[Any]:
        dims, known = shape(x), x.shape.as_list()
        sizes = [dims[i] if n is None else n for i, n in enumerate(known)]
        of_states = self._sizes_of_states(sizes[2:])
        states = [zeros([dims[0], *of_state], x.dtype) for of_state in of_states]
        for state, of_state in zip(states, of_states, strict=True):
            state.set_shape([known[0], *(n if isinstance(n, int) else None for n in of_state)])
        return states

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        kept = flat(mask)[0] if self.return_sequences and mask is not None else None
        return [kept, *([None] * len(self.state_size))] if self.return_state else kept

    def reset_states(self, states: Any = None) -> None:
        """Set the states of a stateful layer, by default to zeros."""
        if not self.stateful or self._states is None:
            raise AttributeError("Layer must be stateful, and have been called.")
        values = [np.zeros(own.shape.as_list()) for own in self._states] if states is None else flat(states)
        K.batch_set_value(list(zip(self._states, values, strict=True)))

    def get_config(self) -> dict[str, Any]:
        config = super().get_config() | {"cell": described(self.cell)}
        return config | {"num_constants": self._constants} if self._constants else config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        if "cell" not in config:
            return cls(**config)
        config = dict(config)
        constants = config.pop("num_constants", None)
        layer = cls(layer_from(config.pop("cell"), custom_objects), **config)
        layer._constants = constants or 0
        return layer


_OF_LAYERS = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll")


class OfCell(RNN):
    """An RNN whose arguments are those of its cell, and those of layers."""

    kind: Any

    def __init__(self, *args: Any, activity_regularizer: Any = None, **kwargs: Any) -> None:
        of_cell = dict(zip([*parameters_of(self.kind.__init__)][1:], args, strict=False))
        known = {*parameters_of(self.kind.__init__), *parameters_of(Cell.__init__)} - {"self", "kwargs"}
        of_cell |= {name: kwargs.pop(name) for name in list(kwargs) if name in known and name != "name"}
        super().__init__(
            self.kind(**of_cell, name=f"{self.kind.__name__}", dtype=kwargs.get("dtype")),
            activity_regularizer=regularizers.get(activity_regularizer),
            **kwargs,
        )

    @property
    def units(self) -> int:
        return int(self.cell.units)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        for key in ("cell", "args", "kwargs"):
            config.pop(key, None)
        of_cell = self.cell.get_config()
        for key in ("name", "trainable", "dtype"):
            of_cell.pop(key, None)
        of_layer = {name: getattr(self, name) for name in _OF_LAYERS}
        return {"activity_regularizer": described(self.activity_regularizer), **config, **of_cell, **of_layer}

    def __getattr__(self, name: str) -> Any:
        """What the cell has, such as `kernel`."""
        if name.startswith("_") or "cell" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.cell, name)


@export("keras.layers.SimpleRNN")
class SimpleRNN(OfCell):
    """`SimpleRNNCell` over time; its arguments, and those of `RNN`."""

    kind = SimpleRNNCell

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.pop("implementation", None)  # Keras 2.0 took it; there is only one
        super().__init__(*args, **kwargs)


@export("keras.layers.GRU")
class GRU(OfCell):
    """`GRUCell` over time; its arguments, and those of `RNN`."""

    kind = GRUCell


@export("keras.layers.LSTM")
class LSTM(OfCell):
    """`LSTMCell` over time; its arguments, and those of `RNN`."""

    kind = LSTMCell


_OF_CUDNN = {"activation": "tanh", "recurrent_activation": "sigmoid", "use_bias": True}
"""What cuDNN's layers are, which take neither these as arguments nor rates of dropout."""
_NOT_OF_CUDNN = (*_OF_CUDNN, "dropout", "recurrent_dropout", "implementation", "reset_after", "unroll")


@export("keras.layers.CuDNNGRU")
class CuDNNGRU(GRU):
    """The GRU that cuDNN has, with any kernels: `GRU` with sigmoid gates and `reset_after`."""

    def __init__(self, units: int, kernel_initializer: Any = "glorot_uniform", *args: Any, **kwargs: Any) -> None:
        named = dict(zip(("recurrent_initializer", "bias_initializer"), args, strict=False))
        super().__init__(
            units, kernel_initializer=kernel_initializer, reset_after=True, **_OF_CUDNN, **named, **kwargs
        )  # fmt: skip

    def get_config(self) -> dict[str, Any]:
        return {name: value for name, value in super().get_config().items() if name not in _NOT_OF_CUDNN}


@export("keras.layers.CuDNNLSTM")
class CuDNNLSTM(LSTM):
    """The LSTM that cuDNN has, with any kernels: `LSTM` with sigmoid gates."""

    def __init__(self, units: int, kernel_initializer: Any = "glorot_uniform", *args: Any, **kwargs: Any) -> None:
        named = dict(zip(("recurrent_initializer", "bias_initializer"), args, strict=False))
        super().__init__(units, kernel_initializer=kernel_initializer, **_OF_CUDNN, **named, **kwargs)

    def get_config(self) -> dict[str, Any]:
        return {name: value for name, value in super().get_config().items() if name not in _NOT_OF_CUDNN}
