"""Normalization layers with their variables (TF: tf.contrib.layers.batch_norm, layer_norm, instance_norm)."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from penstock import nn
from penstock.client.initializers import ones_initializer, zeros_initializer
from penstock.client.variable_scope import get_variable_scope, variable_scope
from penstock.contrib.framework.arg_scopes import add_arg_scope
from penstock.contrib.framework.variables import model_variable
from penstock.contrib.layers.scopes import finish, layer_scope
from penstock.contrib.layers.utils import channel_dimension, get_variable_collections
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, add_to_collections, control_dependencies, more_nodes
from penstock.layers.core import choose, known_truth
from penstock.layers.renormalization import Renormalization
from penstock.ops.array import reshape, shape as shape_of
from penstock.ops.basic import identity
from penstock.ops.filling import ones, zeros
from penstock.tensor.dtypes import float16, float32
from penstock.train.moving_averages import assign_moving_average


def _order(data_format: str) -> str:
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError(f"data_format must be 'NCHW' or 'NHWC', got {data_format!r}")
    return "channels_first" if data_format == "NCHW" else "channels_last"


def _parameter(
    name: str, shape: Any, dtype: Any, trainable: bool, collections: Any, initializer: Any, regularizer: Any = None
) -> Any:
    own = get_variable_collections(collections, name)
    with variable_scope(get_variable_scope(), auxiliary_name_scope=False) as here:
        here.set_partitioner(None)  # averages are updated by ops on whole variables
        return model_variable(name, shape, dtype, initializer, regularizer, trainable, own)


@export("contrib.layers.batch_norm", "contrib.slim.batch_norm")
@add_arg_scope
def batch_norm(
    inputs: Any,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Any = None,
    param_initializers: Any = None,
    param_regularizers: Any = None,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    is_training: Any = True,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_decay: float = 0.99,
    adjustment: Any = None,
) -> Tensor:
    """`inputs` normalised by channel: in training by the batch's statistics, otherwise by moving statistics.

    Variables "beta" (`center`), "gamma" (`scale`), "moving_mean", "moving_variance". The ops that update the last two
    join `updates_collections`, and a train op must depend on them; with None the output itself waits for them.
    is_training: a bool or a tensor. param_initializers, param_regularizers: dicts by the variables' names.
    batch_weights: one for each example. Inputs of rank 2 and 4 are normalised by one op unless `fused` is False;
    `moving_variance` then follows variances with Bessel's correction. renorm: normalised values are corrected by
    averages of earlier batches, with `renorm_decay`, within the bounds `renorm_clipping`, as in tf.layers.
    TF: tf.contrib.layers.batch_norm.

    Raises ValueError for an unknown rank or number of channels; raises NotImplementedError for
    `adjustment`.
    """
    order = _order(data_format)
    if adjustment is not None:
        raise NotImplementedError("contrib.layers.batch_norm has no adjustment: leave it out")
    renormalization = Renormalization(renorm_decay, renorm_clipping, epsilon) if renorm else None
    with variable_scope(scope, "BatchNorm", [inputs], reuse=reuse) as opened:
        inputs = convert_to_tensor(inputs)
        rank, dtype = inputs.shape.ndims, inputs.dtype.base_dtype
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank")
        order = order if rank > 2 else "channels_last"
        size = channel_dimension(inputs.shape, order, 2)
        kinds = {"beta": zeros_initializer(), "gamma": ones_initializer(), "moving_mean": zeros_initializer(),
                 "moving_variance": ones_initializer()}  # fmt: skip
        kinds.update(param_initializers or {})

        def parameter(name: str, trained: bool) -> Any:
            regularizer = (param_regularizers or {}).get(name) if trained else None
            # Statistics of half-precision inputs are kept in float32.
            kept = float32 if dtype.size < 4 else dtype
            return _parameter(name, [size], kept, trained, variables_collections, kinds[name], regularizer)

        beta = parameter("beta", trainable) if center else None
        gamma = parameter("gamma", trainable) if scale else None
        moving = parameter("moving_mean", False), parameter("moving_variance", False)
        if renormalization is not None:
            renormalization.build(
                lambda name, initializer: _parameter(
                    name, [size], moving[0].dtype.base_dtype, False, variables_collections, initializer, None
                ),
                kinds["moving_mean"],
                kinds["moving_variance"],
            )
        use_op = fused is not False and batch_weights is None and rank in (2, 4) and dtype.size <= 4 and not renorm
        if use_op:
            more_nodes(_MORE_NODES.get((rank, known_truth(is_training), updates_collections is None), 0))
            outputs, *batch = _normalize_by_op(inputs, gamma, beta, moving, is_training, epsilon, order)
        else:
            if known_truth(is_training) is None:
                more_nodes(-8 if updates_collections is None else 9)
            outputs, *batch = _normalize(
                inputs, gamma, beta, moving, is_training, epsilon, order, batch_weights, renormalization
            )
        if known_truth(is_training) is not False:

            def follow() -> list[Any]:
                # The variables that correct for the zeros are model variables too, but not where one op normalizes.
                scope = get_variable_scope()
                with nullcontext() if use_op else layer_scope(scope, "", inputs, None, names=False):
                    mean = assign_moving_average(moving[0], batch[0], decay, zero_debias=zero_debias_moving_mean)
                    if renormalization is not None:
                        return [mean, renormalization.follow(moving[1], batch[1], decay)]
                    return [mean, assign_moving_average(moving[1], batch[1], decay, zero_debias=False)]

            if updates_collections is None:

                def after_updates() -> Tensor:
                    with control_dependencies(follow()):
                        return identity(outputs)

                normalized = outputs
                outputs = choose(is_training, after_updates, lambda: identity(normalized))
            else:
                by_layer = not ((use_op and rank == 2) or zero_debias_moving_mean or batch_weights is not None)
                for update in choose(is_training, follow, lambda: [m.value() for m in moving]):
                    add_to_collections(updates_collections, update.op if by_layer else update)  # as TensorFlow does
        outputs.set_shape(inputs.shape)
        return finish(outputs, opened.name, outputs_collections, activation_fn)


_MORE_NODES = {
    (4, True, False): 3,
    (4, False, False): 1,
    (4, False, True): 1,
    (4, None, False): -5,
    (2, None, True): -1,
    (4, None, True): -1,
}
"""Of TensorFlow's batch_norm in one op: by the rank, whether it trains, and whether it updates at once."""


def _normalize_by_op(
    inputs: Tensor, gamma: Any, beta: Any, moving: Any, is_training: Any, epsilon: float, order: str
) -> list[Tensor]:
    """Outputs, mean, variance. A matrix counts as images of one pixel."""
    size = moving[0].shape
    gamma = ones(size) if gamma is None else gamma
    beta = zeros(size) if beta is None else beta
    images = inputs if inputs.shape.ndims == 4 else reshape(inputs, [-1, 1, 1, inputs.shape.as_list()[1]])
    layout = "NCHW" if order == "channels_first" else "NHWC"

    def normalized(mean: Any = None, variance: Any = None) -> Any:
        return nn.fused_batch_norm(images, gamma, beta, mean, variance, epsilon, layout, is_training=mean is None)

    outputs, mean, variance = choose(is_training, normalized, lambda: normalized(*moving))
    if images is not inputs:
        outputs = reshape(outputs, shape_of(inputs))
    return [outputs, mean, variance]


def _normalize(
    inputs: Tensor,
    gamma: Any,
    beta: Any,
    moving: Any,
    is_training: Any,
    epsilon: float,
    order: str,
    weights: Any,
    renormalization: Renormalization | None,
) -> list[Tensor]:
    """Outputs, mean, variance, for any rank; `weights` counts examples."""
    rank: Any = inputs.shape.ndims
    axis = 1 if order == "channels_first" else rank - 1
    axes = [i for i in range(rank) if i != axis]

    def statistics() -> Any:
        if weights is None:
            return nn.moments(inputs, axes)
        each = reshape(convert_to_tensor(weights), [-1] + [1] * (rank - 1))
        return nn.weighted_moments(inputs, axes, each)

    mean, variance = followed = choose(is_training, statistics, lambda: tuple(m.value() for m in moving))
    if renormalization is not None:
        ratio, shift, *followed = renormalization.corrections(mean, variance, is_training)
        shift = shift if gamma is None else shift * gamma
        gamma = ratio if gamma is None else ratio * gamma
        beta = shift if beta is None else shift + beta

    def spread(vector: Any) -> Any:
        if vector is None or axis == rank - 1:
            return vector
        return reshape(vector, [-1 if i == axis else 1 for i in range(rank)])

    outputs = nn.batch_normalization(inputs, spread(mean), spread(variance), spread(beta), spread(gamma), epsilon)
    return [outputs, *followed]


@export("contrib.layers.layer_norm", "contrib.slim.layer_norm")
@add_arg_scope
def layer_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    activation_fn: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: Any = None,
) -> Tensor:
    """`inputs` normalised over the axes from `begin_norm_axis` on (TF: tf.contrib.layers.layer_norm).

    Variables "beta" (`center`) and "gamma" (`scale`) have the shape of the axes from `begin_params_axis` on. Raises
    ValueError for an unknown rank, axes beyond it, or parameters of unknown shape.
    """
    with variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as opened:
        inputs = convert_to_tensor(inputs)
        rank, dtype = inputs.shape.ndims, inputs.dtype.base_dtype
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank")
        if begin_norm_axis < 0:
            begin_norm_axis += rank
        if begin_params_axis >= rank or begin_norm_axis >= rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({begin_norm_axis}) must be less than "
                f"the rank of the inputs ({rank})"
            )
        shape = inputs.shape[begin_params_axis:]
        if not shape.is_fully_defined():
            raise ValueError(f"Inputs {inputs.name}: the shape from axis {begin_params_axis} on must be known: {shape}")
        beta = gamma = None
        if center:
            beta = _parameter("beta", shape, dtype, trainable, variables_collections, zeros_initializer())
        if scale:
            gamma = _parameter("gamma", shape, dtype, trainable, variables_collections, ones_initializer())
        mean, variance = nn.moments(inputs, list(range(begin_norm_axis, rank)), keep_dims=True)
        # 1e-12 is 0 in half precision.
        epsilon = 1e-3 if dtype == float16 else 1e-12
        outputs = nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(inputs.shape)
        return finish(outputs, opened.name, outputs_collections, activation_fn)


@export("contrib.layers.instance_norm", "contrib.slim.instance_norm")
@add_arg_scope
def instance_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Any = None,
    param_initializers: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Tensor:
    """Normalises each channel of each example separately (TF: tf.contrib.layers.instance_norm).

    Variables "beta" and "gamma", one for each channel. Raises ValueError for an unknown rank or number of channels.
    """
    order = _order(data_format)
    with variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse) as opened:
        inputs = convert_to_tensor(inputs)
        rank, dtype = inputs.shape.ndims, inputs.dtype.base_dtype
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank")
        size = channel_dimension(inputs.shape, order, 2)
        axis = 1 if order == "channels_first" else rank - 1
        kinds = {"beta": zeros_initializer(), "gamma": ones_initializer(), **(param_initializers or {})}

        def parameter(name: str) -> Any:
            found = _parameter(name, [size], dtype, trainable, variables_collections, kinds[name])
            return found if axis == rank - 1 else reshape(found, [-1 if i == axis else 1 for i in range(rank)])

        beta = parameter("beta") if center else None
        gamma = parameter("gamma") if scale else None
        mean, variance = nn.moments(inputs, [i for i in range(1, rank) if i != axis], keep_dims=True)
        outputs = nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(inputs.shape)
        return finish(outputs, opened.name, outputs_collections, activation_fn)
