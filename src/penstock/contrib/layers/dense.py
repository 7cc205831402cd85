"""Fully connected layers (TF: tf.contrib.layers.fully_connected)."""

from __future__ import annotations

import functools
import operator
from typing import Any

from penstock import nn
from penstock.client.initializers import zeros_initializer
from penstock.client.variable_scope import variable_scope
from penstock.contrib.framework.arg_scopes import add_arg_scope
from penstock.contrib.framework.variables import model_variable
from penstock.contrib.layers.initializers import xavier_initializer
from penstock.contrib.layers.scopes import RENAMED, finish, layer_scope, output_of
from penstock.contrib.layers.utils import channel_dimension, get_variable_collections
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.layers.core import Dense


def number_of(num_outputs: Any) -> int:
    """The integer itself. Raises ValueError for anything else."""
    try:
        return operator.index(num_outputs)
    except TypeError:
        raise ValueError(f"num_outputs must be an integer, got {num_outputs!r}") from None


@export("contrib.layers.fully_connected", "contrib.slim.fully_connected")
@add_arg_scope
def fully_connected(
    inputs: Any,
    num_outputs: int,
    activation_fn: Any = nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = xavier_initializer(),  # noqa: B008 (it has no state)
    weights_regularizer: Any = None,
    biases_initializer: Any = zeros_initializer(),  # noqa: B008
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Tensor:
    """activation_fn(inputs @ weights + biases) along the last axis (TF: tf.contrib.layers.fully_connected).

    inputs [..., n] -> [..., num_outputs]; variables "weights" [n, num_outputs] and "biases". A `normalizer_fn` (called
    with `normalizer_params`) replaces the biases, which `biases_initializer=None` also omits. Raises ValueError for a
    `num_outputs` that is not an integer, or an unknown n.
    """
    units = number_of(num_outputs)
    with layer_scope(scope, "fully_connected", inputs, reuse, RENAMED) as opened:
        inputs = convert_to_tensor(inputs)
        layer = Dense(
            units, None, normalizer_fn is None and biases_initializer is not None, weights_initializer,
            biases_initializer, weights_regularizer, biases_regularizer, trainable=trainable,
            dtype=inputs.dtype.base_dtype, _scope=opened, _reuse=reuse,
        )  # fmt: skip
        return output_of(
            layer, inputs, opened.name, variables_collections, outputs_collections, activation_fn, normalizer_fn,
            normalizer_params,
        )  # fmt: skip


relu = export("contrib.layers.relu", "contrib.slim.relu")(functools.partial(fully_connected, activation_fn=nn.relu))
relu6 = export("contrib.layers.relu6", "contrib.slim.relu6")(functools.partial(fully_connected, activation_fn=nn.relu6))
elu = export("contrib.layers.elu", "contrib.slim.elu")(functools.partial(fully_connected, activation_fn=nn.elu))
linear = export("contrib.layers.linear", "contrib.slim.linear")(functools.partial(fully_connected, activation_fn=None))


@export("contrib.layers.bias_add", "contrib.slim.bias_add")
@add_arg_scope
def bias_add(
    inputs: Any,
    activation_fn: Any = None,
    initializer: Any = zeros_initializer(),  # noqa: B008
    regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Tensor:
    """`inputs` plus a variable "biases", one for each channel (TF: tf.contrib.layers.bias_add)."""
    with variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as opened:
        inputs = convert_to_tensor(inputs)
        channels_first = data_format == "NCHW" and (inputs.shape.ndims or 0) > 2
        size = channel_dimension(inputs.shape, "channels_first" if channels_first else "channels_last", 2)
        biases = model_variable(
            "biases", [size], inputs.dtype.base_dtype, initializer, regularizer, trainable,
            get_variable_collections(variables_collections, "biases"),
        )  # fmt: skip
        outputs = nn.bias_add(inputs, biases, "NCHW" if channels_first else "NHWC")
        return finish(outputs, opened.name, outputs_collections, activation_fn)
