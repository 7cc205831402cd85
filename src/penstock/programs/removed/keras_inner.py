"""Names inside Keras 2.0 to 2.2 that layers and optimizers of programs were made from: `_Conv`, `clip_norm`, masks.

Facts from Keras 2.0 to 2.2 (`keras.engine.base_layer`, `keras.engine.topology`, `keras.layers`, `keras.optimizers`).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from penstock.client.default_names import snake_case as snake_case
from penstock.client.initializers import fans
from penstock.keras import backend as K, layers
from penstock.keras.engine.earlier_weights import as_now
from penstock.keras.engine.files import write_names, write_weights
from penstock.keras.engine.layer import Layer
from penstock.keras.engine.node import mask_of
from penstock.keras.engine.stored_weights import names_in, set_weights
from penstock.keras.layers.pooling import _Global
from penstock.keras.utils.inner import to_list, unpack_singleton
from penstock.ops.control_flow.cond import cond


def collect_previous_mask(input_tensors: Any) -> Any:
    """The mask of a tensor, or a list of those of several; None for what has none."""
    return unpack_singleton([mask_of(x) for x in to_list(input_tensors, allow_tuple=True)])


def collect_input_shape(input_tensors: Any) -> Any:
    """The sizes of a tensor's dims as a tuple, or a list of those of several."""
    return unpack_singleton([K.int_shape(x) for x in to_list(input_tensors, allow_tuple=True)])


def as_list(x: Any) -> list[Any]:
    return to_list(x)


def load_weights_from_hdf5_group(f: Any, layers: list[Any], reshape: bool = False) -> None:
    """Set the weights of layers, in order, to those in an open HDF5 file."""
    set_weights(f, SimpleNamespace(layers=layers), "the file", reshape=reshape)


def load_weights_from_hdf5_group_by_name(
    f: Any, layers: list[Any], skip_mismatch: bool = False, reshape: bool = False
) -> None:
    """Set the weights of the layers whose names are in an open HDF5 file."""
    set_weights(f, SimpleNamespace(layers=layers), "the file", True, skip_mismatch, reshape)


def save_weights_to_hdf5_group(f: Any, layers: list[Any]) -> None:
    """Write the weights of layers to an open HDF5 file."""
    write_weights(f, SimpleNamespace(layers=layers))


def load_attributes_from_hdf5_group(group: Any, name: str) -> list[str]:
    """A list of names, in one attribute or several."""
    return names_in(group, name)


def save_attributes_to_hdf5_group(group: Any, name: str, data: Any) -> None:
    """Write a list of names, in several attributes if it is long."""
    write_names(group, name, [each.decode() if isinstance(each, bytes) else each for each in data])


def preprocess_weights_for_loading(
    layer: Any, weights: Any, original_keras_version: Any = None, original_backend: Any = None, reshape: bool = False
) -> Any:
    """Weights of a layer in a file of Keras 1, of another backend or of cuDNN as the layer has them."""
    found = as_now(layer, list(weights), lambda parts: [np.asarray(each) for each in parts],
                   original_keras_version or "", original_backend or "")  # fmt: skip
    if not reshape:
        return found
    return [np.reshape(each, own.shape.as_list()) for each, own in zip(found, layer.weights, strict=True)]


def clip_norm(g: Any, c: float, n: Any) -> Any:
    """A gradient times `c / n` where its norm `n` is at least `c`; `c` of 0 or less leaves it alone."""
    return g if c <= 0 else cond(n >= c, lambda: g * (c / n), lambda: g)


def compute_fans(shape: Any, data_format: str = "channels_last") -> tuple[float, float]:
    """How many inputs and outputs the weights of that shape connect."""
    dims = list(shape)
    if len(dims) > 2 and data_format == "channels_first":
        dims = [*dims[2:], dims[1], dims[0]]
    return fans(dims)


def transform_matrix_offset_center(matrix: Any, x: float, y: float) -> np.ndarray:
    """[3, 3]: a transformation of images of `x` rows and `y` columns, about their centre."""
    there, back = np.eye(3), np.eye(3)
    there[:2, 2] = x / 2.0 + 0.5, y / 2.0 + 0.5
    back[:2, 2] = -there[:2, 2]
    return there @ matrix @ back


# --- layers ---------------------------------------------------------------------------------------------

_CONVOLUTIONS = {1: layers.Conv1D, 2: layers.Conv2D, 3: layers.Conv3D}


class Conv(layers.Conv2D):
    """A convolution over `rank` spatial dims, of which those of Keras were made."""

    def __init__(self, rank: int, filters: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        self.rank = rank
        self.paddings = _CONVOLUTIONS[rank].paddings
        super().__init__(filters, kernel_size, *args, **kwargs)


class GlobalPooling1D(_Global):
    """Subclasses define `call` on [n, w, c]."""

    rank = 1

    def compute_output_shape(self, input_shape: Any) -> Any:
        return (input_shape[0], input_shape[2])


class GlobalPooling2D(_Global):
    """Subclasses define `call` on images."""

    def compute_output_shape(self, input_shape: Any) -> Any:
        return (input_shape[0], input_shape[3 if self.data_format == "channels_last" else 1])


class Pooling2D(layers.MaxPooling2D):
    """Subclasses define `_pooling_function(inputs, pool_size, strides, padding, data_format)`."""

    def _pooling_function(self, inputs: Any, pool_size: Any, strides: Any, padding: str, data_format: str) -> Any:
        raise NotImplementedError

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        return self._pooling_function(inputs, self.pool_size, self.strides, self.padding, self.data_format)


def time_distributed_dense(
    x: Any, w: Any, b: Any = None, dropout: Any = None, input_dim: Any = None, output_dim: Any = None,
    timesteps: Any = None, training: Any = None,
) -> Any:  # fmt: skip
    """`x @ w + b` for each step of x [n, time, features]; a dropout mask is the same for all steps."""
    if dropout is not None and 0.0 < dropout < 1.0:
        kept = K.expand_dims(K.dropout(K.ones_like(x[:, 0]), dropout), 1)
        x = K.in_train_phase(x * kept, x, training=training)
    found = K.dot(x, w)
    return found if b is None else K.bias_add(found, b)


class Recurrent(Layer):
    """What recurrent layers were until Keras 2.1.

    Subclasses set `units`, and in `build` `input_spec`, `state_spec` and `states` (a None for each); they define
    `step(inputs, states)`, which returns an output and the new states. `get_constants` and `preprocess_input` give what
    all steps see after the states, and inputs that are prepared for all steps at once.
    """

    supports_masking = True
    units: int

    def __init__(
        self, return_sequences: bool = False, return_state: bool = False, go_backwards: bool = False,
        stateful: bool = False, unroll: bool = False, implementation: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self.return_sequences, self.return_state, self.go_backwards = return_sequences, return_state, go_backwards
        self.stateful, self.unroll, self.implementation = stateful, unroll, implementation
        self.input_spec: Any = [layers.InputSpec(ndim=3)]
        self.state_spec: Any = None
        self.dropout = self.recurrent_dropout = 0
        self.states: list[Any] = []

    def get_config(self) -> dict[str, Any]:
        names = "return_sequences", "return_state", "go_backwards", "stateful", "unroll", "implementation"
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        kept = to_list(mask, allow_tuple=True)[0] if self.return_sequences else None
        return [kept, *[None for _ in self.states]] if self.return_state else kept

    def step(self, inputs: Any, states: Any) -> Any:
        raise NotImplementedError

    def get_constants(self, inputs: Any, training: Any = None) -> list[Any]:
        return []

    def preprocess_input(self, inputs: Any, training: Any = None) -> Any:
        return inputs

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """Zeros [n, units] for each state."""
        zeros = K.tile(K.expand_dims(K.sum(K.zeros_like(inputs), axis=(1, 2))), [1, self.units])
        return [zeros for _ in self.states]

    def __call__(self, inputs: Any, initial_state: Any = None, **kwargs: Any) -> Any:
        if initial_state is None:
            return super().__call__(inputs, **kwargs)
        spec = self.input_spec
        self.input_spec = [*to_list(spec), *to_list(self.state_spec)] if self.state_spec is not None else None
        outputs = super().__call__([inputs, *to_list(initial_state, allow_tuple=True)], **kwargs)
        self.input_spec = spec
        return outputs

    def call(self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None) -> Any:
        if isinstance(inputs, list):
            inputs, *initial_state = inputs
        if initial_state is None or len(initial_state) == 0:
            initial_state = self.states if self.stateful else self.get_initial_state(inputs)
        if len(initial_state) != len(self.states):
            raise ValueError(f"Layer has {len(self.states)} states but was passed {len(initial_state)} initial states.")
        last, outputs, states = K.rnn(
            self.step, self.preprocess_input(inputs, training=None), list(initial_state), self.go_backwards,
            to_list(mask, allow_tuple=True)[0], self.get_constants(inputs, training=None), self.unroll,
            inputs.shape.as_list()[1],
        )  # fmt: skip
        if self.stateful:
            self.add_update([K.update(own, new) for own, new in zip(self.states, states, strict=True)], inputs)
        output = outputs if self.return_sequences else last
        return [output, *states] if self.return_state else output

    def reset_states(self, states: Any = None) -> None:
        """Set the states of a stateful layer, by default to zeros; programs call it in `build`."""
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        size = to_list(self.input_spec)[0].shape[0]
        if not size:
            raise ValueError("If a RNN is stateful, it needs to know its batch size.")
        if self.states[0] is None:
            self.states = [K.zeros((size, self.units)) for _ in self.states]
        values = [np.zeros((size, self.units)) for _ in self.states] if states is None else to_list(states, True)
        for state, value in zip(self.states, values, strict=True):
            K.set_value(state, value)
