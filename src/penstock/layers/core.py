"""Dense, Dropout, Flatten (TF: tf.layers)."""

from __future__ import annotations

from typing import Any

from penstock import nn
from penstock.api.named import named
from penstock.client.initializers import zeros_initializer
from penstock.client.variable import Variable
from penstock.export import export
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import more_nodes
from penstock.layers.base import Layer, channel_axis, known_channels
from penstock.ops.array import reshape, shape as shape_of_tensor
from penstock.ops.basic import identity
from penstock.ops.cast import cast
from penstock.ops.control_flow.cond import cond
from penstock.ops.joining import concat
from penstock.ops.layout import transpose
from penstock.ops.matrix import matmul
from penstock.tensor.dtypes import bool as bool_dtype
from penstock.tensor.shapes import TensorShape


def known_truth(condition: Any) -> bool | None:
    """The truth of a Python value or a constant; None if it is only known in a step."""
    if not isinstance(condition, Tensor | Variable):
        return bool(condition)
    value = constant_value(condition) if isinstance(condition, Tensor) else None
    return None if value is None else bool(value)


def choose(condition: Any, when_true: Any, when_false: Any) -> Any:
    """`cond`, or only the branch taken if the condition is a Python value or a constant."""
    known = known_truth(condition)
    if known is not None:
        return when_true() if known else when_false()
    tensor: Any = convert_to_tensor(condition)
    if tensor.dtype.base_dtype != bool_dtype:
        tensor = tensor != 0
    return cond(tensor, when_true, when_false)


@export("layers.Dense")
class Dense(Layer):
    """activation(inputs @ kernel + bias) along the last axis (TF: tf.layers.Dense)."""

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = zeros_initializer(),  # noqa: B008 (it has no state)
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **kwargs)
        self.units = int(units)
        self.activation = named("activations", activation)
        self.use_bias = use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint

    def build(self, input_shape: Any) -> None:
        self.build_kernels(input_shape)
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", [self.units], None, self.bias_initializer, self.bias_regularizer,
                constraint=self.bias_constraint,
            )  # fmt: skip

    def build_kernels(self, input_shape: Any) -> None:
        shape = [known_channels(input_shape, -1, self), self.units]
        self.kernel = self.add_weight(
            "kernel", shape, None, self.kernel_initializer, self.kernel_regularizer, constraint=self.kernel_constraint
        )

    @property
    def _applied_kernel(self) -> Any:
        """What inputs are multiplied by."""
        return self.kernel

    def call(self, inputs: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        kernel = self._applied_kernel
        if inputs.dtype.base_dtype != kernel.dtype.base_dtype:
            inputs = cast(inputs, kernel.dtype.base_dtype)
        outputs = inputs
        rank = inputs.shape.ndims
        if rank == 2:
            outputs = matmul(inputs, kernel)
        else:
            outputs = matmul(reshape(inputs, [-1, inputs.shape.as_list()[-1]]), kernel)
            outputs = reshape(outputs, concat([shape_of_tensor(inputs)[:-1], [self.units]], 0))
            outputs.set_shape(self.compute_output_shape(inputs.shape))
            more_nodes(-1 if inputs.shape.is_fully_defined() else 13)  # TensorFlow's is a tensordot
        if self.bias is not None:
            outputs = nn.bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return TensorShape(input_shape)[:-1].concatenate(self.units)


@export("layers.Dropout")
class Dropout(Layer):
    """In training, sets a fraction `rate` of the inputs to 0 and scales up the others (TF: tf.layers.Dropout)."""

    def __init__(
        self, rate: Any = 0.5, noise_shape: Any = None, seed: Any = None, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs: Tensor, training: Any = False, *args: Any, **kwargs: Any) -> Tensor:
        def dropped() -> Tensor:
            return nn.dropout(inputs, keep_prob=1 - self.rate, noise_shape=self.noise_shape, seed=self.seed)

        outputs = choose(training, dropped, lambda: identity(inputs))
        more_nodes(known_truth(training) is None)
        return outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return TensorShape(input_shape)


@export("layers.Flatten")
class Flatten(Layer):
    """Flattens all axes except the first, with channels last (TF: tf.layers.Flatten).

    data_format: "channels_first" moves the inputs' axis 1 to the end first. Raises ValueError for other formats.
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = (data_format or "channels_last").lower()
        channel_axis(self.data_format, 2)

    def call(self, inputs: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError(f"{self.name} flattens inputs of a known rank: give {inputs.name} a shape")
        if self.data_format == "channels_first" and rank > 2:
            inputs = transpose(inputs, [0, *range(2, rank), 1])
        outputs = reshape(inputs, [inputs.shape.as_list()[0] or shape_of_tensor(inputs)[0], -1])
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        shape = TensorShape(input_shape)
        rest = shape[1:]
        return TensorShape([shape.as_list()[0], rest.num_elements() if rest.is_fully_defined() else None])


@export("layers.dense")
def dense(
    inputs: Any,
    units: int,
    activation: Any = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = zeros_initializer(),  # noqa: B008
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
) -> Tensor:
    """inputs [..., n] -> [..., units], with variables "kernel" [n, units] and "bias" (TF: tf.layers.dense)."""
    layer = Dense(
        units, activation, use_bias, kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer,
        activity_regularizer, kernel_constraint, bias_constraint, trainable, name, _reuse=reuse, _scope=name,
    )  # fmt: skip
    return layer(inputs)


@export("layers.dropout")
def dropout(
    inputs: Any,
    rate: Any = 0.5,
    noise_shape: Any = None,
    seed: Any = None,
    training: Any = False,
    name: str | None = None,
) -> Tensor:
    """`inputs`, with a fraction `rate` of them dropped in training; `training` may be a tensor (TF:
    tf.layers.dropout)."""
    return Dropout(rate, noise_shape, seed, name)(inputs, training=training)


@export("layers.flatten")
def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Tensor:
    """inputs [n, ...] -> [n, k] (TF: tf.layers.flatten); data_format: see `Flatten`."""
    return Flatten(data_format, name=name)(inputs)
