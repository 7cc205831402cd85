"""Cells: one step of SimpleRNN, GRU and LSTM (TF: tf.keras.layers.LSTMCell, ...).

`call(inputs, states)` is `step(project(inputs), states)`. Layers project all steps of a sequence at once, in one
product, and only `step` is in the loop.
"""

from __future__ import annotations

from typing import Any

from penstock import nn
from penstock.export import export
from penstock.graph.scopes import name_scope
from penstock.keras import activations, backend as K, constraints, initializers, regularizers
from penstock.keras.engine.arguments import parameters_of
from penstock.keras.engine.layer import Layer
from penstock.keras.engine.topology import layer_from
from penstock.keras.nested import flat
from penstock.layers.base import known_channels
from penstock.ops.array import shape
from penstock.ops.cast import cast
from penstock.ops.filling import fill, ones, zeros
from penstock.ops.joining import concat, split
from penstock.ops.matrix import matmul
from penstock.ops.stacking import stack
from penstock.tensor.shapes import TensorShape


@export("keras.layers.AbstractRNNCell")
class AbstractRNNCell(Layer):
    """A step of a recurrent layer that a program defines: `call(inputs, states)`, `state_size` and `output_size`."""

    def call(self, inputs: Any, states: Any) -> Any:
        """The output and new states of a step."""
        raise NotImplementedError("Abstract method")

    @property
    def state_size(self) -> Any:
        """The size of the state, or of each."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        raise NotImplementedError("Abstract method")

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """States of zeros: [batch, size] for each."""
        rows = shape(inputs)[0] if batch_size is None else batch_size
        states = [zeros([rows, size], dtype or inputs.dtype) for size in flat(self.state_size)]
        return states if isinstance(self.state_size, list | tuple) else states[0]


_COMMON = ("regularizer", "constraint", "dropout")


class Cell(Layer):
    """What the three have in common: weights for `gates` gates, in one matrix each for inputs and states."""

    gates = 1
    reset_after = False
    implementation = 1
    """2: a product is of all gates, for which the first of the masks counts."""
    _rank_of_step = 2

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units, self.use_bias = int(units), use_bias
        self.activation = activations.get(activation)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.recurrent_initializer = initializers.get(recurrent_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.recurrent_regularizer = regularizers.get(recurrent_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.recurrent_constraint = constraints.get(recurrent_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.dropout = min(1.0, max(0.0, dropout))
        self.recurrent_dropout = min(1.0, max(0.0, recurrent_dropout))
        self._masks: dict[str, list[Any]] = {}

    @property
    def state_size(self) -> Any:
        return self.units

    @property
    def output_size(self) -> int:
        return self.units

    def get_config(self) -> dict[str, Any]:
        """With the arguments that are the same in all cells, whose classes name only their own."""
        defaults = {key: parameter.default for key, parameter in parameters_of(Cell.__init__).items()}
        return {key: defaults[key] for key in defaults if key.endswith(_COMMON)} | super().get_config()

    def build(self, input_shape: Any) -> None:
        width = self.units * self.gates
        self.kernel = self.add_weight(
            "kernel", [known_channels(TensorShape(input_shape), -1, self), width], None, self.kernel_initializer,
            self.kernel_regularizer, constraint=self.kernel_constraint,
        )  # fmt: skip
        self.recurrent_kernel = self.add_weight(
            "recurrent_kernel", [self.units, width], None, self.recurrent_initializer, self.recurrent_regularizer,
            constraint=self.recurrent_constraint,
        )  # fmt: skip
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", [2, width] if self.reset_after else [width], None, self._initial_bias(),
                self.bias_regularizer, constraint=self.bias_constraint,
            )  # fmt: skip

    def _initial_bias(self) -> Any:
        return self.bias_initializer

    # --- a step -----------------------------------------------------------------------------------------

    def project(self, inputs: Any, training: Any = None) -> Any:
        """The part of all gates that depends on inputs [..., features]: one step's, or those of a whole sequence."""
        parts = self._without("inputs", inputs, self.dropout, training)
        outputs = K.dot(parts[0], self.kernel) if len(parts) == 1 else _products(K.dot, parts, self.kernel, -1)
        bias = None if self.bias is None else self.bias[0] if self.reset_after else self.bias
        return outputs if bias is None else nn.bias_add(outputs, bias)

    def step(self, projected: Any, states: list[Any], training: Any = None) -> tuple[Any, list[Any]]:
        """The output and new states."""
        raise NotImplementedError

    def call(self, inputs: Any, states: Any, training: Any = None) -> tuple[Any, list[Any]]:
        return self.step(self.project(inputs, training), flat(states), training)

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> list[Any]:
        """States of zeros."""
        rows = shape(inputs)[0] if batch_size is None else batch_size
        return [zeros([rows, size], dtype or inputs.dtype) for size in flat(self.state_size)]

    def _recurrent(self, h: Any, training: Any) -> list[Any]:
        """The previous output, once for each gate or for all."""
        return self._without("states", h, self.recurrent_dropout, training)

    def _without(self, what: str, x: Any, rate: float, training: Any) -> list[Any]:
        """`x` without what is dropped, the same in all steps: once for each gate, or once for all."""
        if rate <= 0:
            return [x]
        masks = self._dropped(what, self._sizes_of_mask(x), x.dtype, rate, training)
        return [x * mask for mask in (masks[:1] if self.implementation == 2 else masks)]

    def _dropped(self, what: str, sizes: list[Any], dtype: Any, rate: float, training: Any) -> list[Any]:
        """For each gate, what to multiply by: NumPy's generator draws the seed of each, as in Keras."""
        if what not in self._masks:
            whole = cast(fill(stack(sizes), 1.0), dtype)
            self._masks[what] = [
                K.in_train_phase(lambda: K.dropout(whole, rate), whole, training) for _ in range(self.gates)
            ]
        return self._masks[what]

    def _sizes_of_mask(self, like: Any) -> list[Any]:
        """Those of a step, with one step for all of a sequence."""
        sizes, dims = like.shape.as_list(), shape(like)
        found = [dims[i] if size is None else size for i, size in enumerate(sizes)]
        if len(sizes) > self._rank_of_step:
            found[1] = 1
        return found

    def begin(self, sizes: list[Any], states: list[Any], training: Any = None) -> None:
        """Draw masks for a new sequence, outside of its loop: for inputs of `sizes`, then for the first of `states`."""
        self._masks.clear()
        if self.dropout > 0:
            self._dropped("inputs", sizes, states[0].dtype, self.dropout, training)
        if self.recurrent_dropout > 0:
            like = states[0]
            self._dropped("states", self._sizes_of_mask(like), like.dtype, self.recurrent_dropout, training)


def _products(product: Any, parts: list[Any], kernel: Any, axis: int) -> Any:
    """The product of each part and the kernel of its gate, beside each other along `axis`."""
    kernels = split(kernel, len(parts), kernel.shape.ndims - 1)
    return concat([product(x, of_gate) for x, of_gate in zip(parts, kernels, strict=True)], axis)


def takes_constants(cell: Any) -> bool:
    """Whether a cell's call takes tensors that are the same in all steps."""
    return "constants" in parameters_of(type(cell).call)


@export("keras.layers.SimpleRNNCell")
class SimpleRNNCell(Cell):
    """activation(x @ kernel + h @ recurrent_kernel + bias)."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            units, activation, None, use_bias, kernel_initializer, recurrent_initializer, bias_initializer, **kwargs
        )

    def step(self, projected: Any, states: list[Any], training: Any = None) -> tuple[Any, list[Any]]:
        (h,) = self._recurrent(states[0], training)
        output = self.activation(projected + matmul(h, self.recurrent_kernel))
        return output, [output]


@export("keras.layers.GRUCell")
class GRUCell(Cell):
    """Gates z (update), r (reset) and the candidate. `reset_after`: reset the product, not what is multiplied."""

    gates = 3

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        implementation: int = 1,
        reset_after: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            units, activation, recurrent_activation, use_bias, kernel_initializer, recurrent_initializer,
            bias_initializer, **kwargs,
        )  # fmt: skip
        self.reset_after, self.implementation = reset_after, implementation

    def step(self, projected: Any, states: list[Any], training: Any = None) -> tuple[Any, list[Any]]:
        (before,) = states
        parts = self._recurrent(before, training)
        if len(parts) == 1:  # without what is dropped in what is kept, too
            (before,) = parts
        x_gates, x_candidate = projected[:, : 2 * self.units], projected[:, 2 * self.units :]
        kernel_gates = self.recurrent_kernel[:, : 2 * self.units]
        kernel_candidate = self.recurrent_kernel[:, 2 * self.units :]
        if self.reset_after:
            kernel = self.recurrent_kernel
            inner = matmul(before, kernel) if len(parts) == 1 else _products(matmul, parts, kernel, 1)
            if self.bias is not None:
                inner = nn.bias_add(inner, self.bias[1])
            z, r = split(self.recurrent_activation(x_gates + inner[:, : 2 * self.units]), 2, 1)
            candidate = self.activation(x_candidate + r * inner[:, 2 * self.units :])
        else:
            one = len(parts) == 1
            inner = matmul(before, kernel_gates) if one else _products(matmul, parts[:2], kernel_gates, 1)
            z, r = split(self.recurrent_activation(x_gates + inner), 2, 1)
            candidate = self.activation(x_candidate + matmul(r * parts[-1], kernel_candidate))
        output = z * before + (1.0 - z) * candidate
        return output, [output]


@export("keras.layers.LSTMCell")
class LSTMCell(Cell):
    """Gates i (input), f (forget), the candidate, o (output); `unit_forget_bias` begins with a bias of 1 for f."""

    gates = 4

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        implementation: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            units, activation, recurrent_activation, use_bias, kernel_initializer, recurrent_initializer,
            bias_initializer, **kwargs,
        )  # fmt: skip
        self.implementation = implementation
        self.unit_forget_bias = unit_forget_bias

    @property
    def state_size(self) -> Any:
        return [self.units, self.units]

    def _initial_bias(self) -> Any:
        if not self.unit_forget_bias:
            return self.bias_initializer

        def ones_for_f(size: Any, dtype: Any = None, **kwargs: Any) -> Any:
            i, rest = [self.units], [self.units * 2]
            return concat([self.bias_initializer(i, dtype), ones(i, dtype), self.bias_initializer(rest, dtype)], 0)

        return ones_for_f

    def step(self, projected: Any, states: list[Any], training: Any = None) -> tuple[Any, list[Any]]:
        h, c = states
        i, f, candidate, o = split(projected + self._from_output(h, training), 4, self._channels)
        gate = self.recurrent_activation
        c = gate(f) * c + gate(i) * self.activation(candidate)
        h = gate(o) * self.activation(c)
        return h, [h, c]

    _channels = 1
    """The axis along which the gates are beside each other."""

    def _from_output(self, h: Any, training: Any) -> Any:
        """The part of all gates that depends on the previous output."""
        parts = self._recurrent(h, training)
        one = len(parts) == 1
        return matmul(parts[0], self.recurrent_kernel) if one else _products(matmul, parts, self.recurrent_kernel, 1)


@export("keras.layers.StackedRNNCells")
class StackedRNNCells(Layer):
    """Cells one above another, as one cell."""

    def __init__(self, cells: list[Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cells = list(cells)

    @property
    def state_size(self) -> Any:
        return [size for cell in self.cells for size in flat(cell.state_size)]

    @property
    def output_size(self) -> Any:
        return flat(getattr(self.cells[-1], "output_size", self.cells[-1].state_size))[0]

    def build(self, input_shape: Any) -> None:
        constants = input_shape[1:] if isinstance(input_shape, list) else []
        input_shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        rows = TensorShape(input_shape).as_list()[0]
        for cell in self.cells:
            with name_scope(cell.name):
                own = TensorShape(input_shape)
                cell._build_once([own, *constants] if constants and takes_constants(cell) else own)
            input_shape = [rows, flat(getattr(cell, "output_size", cell.state_size))[0]]

    def begin(self, sizes: list[Any], states: list[Any], training: Any = None) -> None:
        """`Cell.begin` of all cells that are such, each of which takes what the one below gives."""
        left = list(states)
        for cell in self.cells:
            if isinstance(cell, Cell):
                cell.begin(sizes, left, training)
            left = left[len(flat(cell.state_size)) :]
            sizes = [sizes[0], flat(getattr(cell, "output_size", cell.state_size))[0]]

    def call(self, inputs: Any, states: Any, constants: Any = None) -> tuple[Any, list[Any]]:
        left = flat(states)
        new: list[Any] = []
        for cell in self.cells:
            count = len(flat(cell.state_size))
            takes = {} if constants is None or not takes_constants(cell) else {"constants": constants}
            inputs, of_cell = cell.call(inputs, left[:count], **takes)
            new += flat(of_cell)
            left = left[count:]
        return inputs, new

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        config = dict(config)
        return cls([layer_from(cell, custom_objects) for cell in config.pop("cells")], **config)
