"""Dense, Activation, Dropout, and layers that rearrange elements (TF: tf.keras.layers)."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import nn
from penstock.export import export
from penstock.graph.scopes import counted_as, more_nodes
from penstock.keras import activations, backend as K, constraints, initializers, regularizers
from penstock.keras.backend.settings import check_data_format
from penstock.keras.engine.layer import Layer
from penstock.layers import core
from penstock.ops.array import reshape, shape
from penstock.ops.cast import cast
from penstock.ops.compare import not_equal
from penstock.ops.layout import transpose
from penstock.ops.reduce import reduce_any
from penstock.ops.stacking import stack
from penstock.tensor.shapes import TensorShape


@export("keras.layers.Dense")
class Dense(core.Dense, Layer):
    """activation(inputs @ kernel + bias) along the last axis."""

    supports_masking = True

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            units, activations.get(activation), use_bias, initializers.get(kernel_initializer),
            initializers.get(bias_initializer), regularizers.get(kernel_regularizer),
            regularizers.get(bias_regularizer), regularizers.get(activity_regularizer),
            constraints.get(kernel_constraint), constraints.get(bias_constraint), **kwargs,
        )  # fmt: skip

    def build(self, input_shape: Any) -> None:
        super().build(TensorShape(input_shape))

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        more_nodes(1 + self.use_bias)  # weights are read
        if not K.is_sparse(inputs):
            return super().call(inputs, *args, **kwargs)
        outputs = K.dot(inputs, self.kernel)  # as in Keras; TensorFlow's refuses sparse inputs
        outputs = outputs if self.bias is None else nn.bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)


@export("keras.layers.Activation")
class Activation(Layer):
    """A function of each element, or one such as softmax."""

    supports_masking = True

    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.activation = activations.get(activation)

    def call(self, inputs: Any) -> Any:
        return self.activation(inputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape


@export("keras.layers.Dropout")
class Dropout(Layer):
    """In training, sets a fraction `rate` of the elements to 0 and scales up the others."""

    supports_masking = True

    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = min(1.0, max(0.0, rate)), noise_shape, seed

    def _noise_shape(self, inputs: Any) -> Any:
        if self.noise_shape is None:
            return None
        dims = shape(inputs)
        return stack([dims[i] if n is None else n for i, n in enumerate(self.noise_shape)])

    def call(self, inputs: Any, training: Any = None) -> Any:
        if not 0.0 < self.rate < 1.0:
            K.learning_phase()
            more_nodes(7 if training is None else 0)  # TensorFlow's branches
            return inputs
        more_nodes(1 if training is None else 0)  # it takes an identity for the other branch

        def dropped() -> Any:
            return nn.dropout(inputs, 1.0 - self.rate, self._noise_shape(inputs), self.seed)

        output = K.in_train_phase(dropped, inputs, training)
        output.set_shape(inputs.shape)
        return output

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape


class _SpatialDropout(Dropout):
    """Drops whole channels."""

    rank = 2

    def __init__(self, rate: float, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        self.data_format = check_data_format(data_format)

    def _noise_shape(self, inputs: Any) -> Any:
        dims = shape(inputs)
        more_nodes(-2)
        ones = [1] * self.rank
        if self.data_format == "channels_first" and self.rank > 1:
            return stack([dims[0], dims[1], *ones])
        return stack([dims[0], *ones, dims[self.rank + 1]])


@export("keras.layers.SpatialDropout1D")
class SpatialDropout1D(_SpatialDropout):
    """Drops whole channels of [n, time, c]."""

    rank = 1

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)


@export("keras.layers.SpatialDropout2D")
class SpatialDropout2D(_SpatialDropout):
    """Drops whole channels of images."""


@export("keras.layers.SpatialDropout3D")
class SpatialDropout3D(_SpatialDropout):
    """Drops whole channels of volumes."""

    rank = 3


@export("keras.layers.Flatten")
class Flatten(Layer):
    """All axes but the first as one."""

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = check_data_format(data_format)

    def call(self, inputs: Any) -> Any:
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank is not None and rank > 2:
            inputs = transpose(inputs, [0, *range(2, rank), 1])
        sizes = inputs.shape[1:]
        size = sizes.num_elements() if sizes.is_fully_defined() else None
        with counted_as(8):  # TensorFlow asks the shape for the batch's size
            outputs = reshape(inputs, [-1, size] if size is not None else [shape(inputs)[0], -1])
        outputs.set_shape([inputs.shape.as_list()[0], size])
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        sizes: Any = TensorShape(input_shape).as_list()
        known = None if None in sizes[1:] else int(np.prod(sizes[1:]))
        return TensorShape([sizes[0], known])


@export("keras.layers.Reshape")
class Reshape(Layer):
    """The elements of each sample in another shape, in which one size may be -1."""

    def __init__(self, target_shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def call(self, inputs: Any) -> Any:
        outputs = reshape(inputs, [shape(inputs)[0], *self.target_shape])
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        sizes: Any = TensorShape(input_shape).as_list()
        target: Any = list(self.target_shape)
        if -1 in target:
            rest = int(np.prod([n for n in target if n != -1]))
            count = None if None in sizes[1:] else int(np.prod(sizes[1:]))
            if count is not None and count % rest:
                raise ValueError(f"total size of new array must be unchanged: {sizes[1:]} to {self.target_shape}")
            target[target.index(-1)] = None if count is None else count // rest
        elif None not in sizes[1:] and np.prod(sizes[1:]) != np.prod(target):
            raise ValueError(f"total size of new array must be unchanged: {sizes[1:]} to {self.target_shape}")
        return TensorShape([sizes[0], *target])


@export("keras.layers.Permute")
class Permute(Layer):
    """The axes of each sample in another order; they count from 1."""

    def __init__(self, dims: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ValueError(f"Invalid permutation `dims` for Permute Layer: {dims}. The axes count from 1.")

    def call(self, inputs: Any) -> Any:
        return transpose(inputs, [0, *self.dims])


@export("keras.layers.RepeatVector")
class RepeatVector(Layer):
    """[n, features] -> [n, times, features]."""

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n = n

    def call(self, inputs: Any) -> Any:
        return K.repeat(inputs, self.n)


@export("keras.layers.Masking")
class Masking(Layer):
    """Steps of which all features are `mask_value` do not count."""

    supports_masking = True

    def __init__(self, mask_value: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.mask_value = mask_value

    def call(self, inputs: Any) -> Any:
        with counted_as(7):  # with the mask
            counts = reduce_any(not_equal(inputs, self.mask_value), -1, True)
            return inputs * cast(counts, inputs.dtype)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        with counted_as(0):
            return reduce_any(not_equal(inputs, self.mask_value), -1)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape


@export("keras.layers.ActivityRegularization")
class ActivityRegularization(Layer):
    """Adds a penalty on its inputs to the loss."""

    supports_masking = True

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=regularizers.L1L2(l1, l2), **kwargs)
        self.l1, self.l2 = l1, l2
