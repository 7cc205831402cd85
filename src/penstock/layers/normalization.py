"""Batch normalisation (TF: tf.layers.BatchNormalization)."""

from __future__ import annotations

from typing import Any

from penstock import nn
from penstock.client.initializers import ones_initializer, zeros_initializer
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.graph.scopes import more_nodes
from penstock.layers.base import Layer, known_channels
from penstock.layers.core import choose, known_truth
from penstock.layers.renormalization import Renormalization
from penstock.ops.array import reshape
from penstock.ops.basic import identity
from penstock.ops.cast import cast
from penstock.ops.filling import ones, zeros
from penstock.train.moving_averages import assign_moving_average


@export("layers.BatchNormalization")
class BatchNormalization(Layer):
    """(inputs - mean) / sqrt(variance + epsilon) * gamma + beta for each entry of `axis`.

    In training, mean and variance are the batch's, and `moving_mean` and `moving_variance` follow them through ops in
    the collection UPDATE_OPS, which a train op must depend on; otherwise the moving ones are used. `fused` (None: if
    possible) uses one op for inputs of rank 4 along axis 1 or 3 (TF: tf.layers.BatchNormalization).

    renorm: normalised values are corrected by averages of earlier batches, within `renorm_clipping`, a dict of bounds
    "rmin", "rmax" and "dmax"; see `renormalization.py`.
    """

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = zeros_initializer(),  # noqa: B008 (they have no state)
        gamma_initializer: Any = ones_initializer(),  # noqa: B008
        moving_mean_initializer: Any = zeros_initializer(),  # noqa: B008
        moving_variance_initializer: Any = ones_initializer(),  # noqa: B008
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: Any = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, **kwargs)
        if virtual_batch_size is not None or adjustment is not None:
            raise NotImplementedError("batch_normalization has no virtual_batch_size or adjustment yet")
        if isinstance(axis, list | tuple):
            if len(axis) != 1:
                raise NotImplementedError(f"batch_normalization works along one axis, got {axis!r}")
            axis = axis[0]
        self.axis, self.momentum, self.epsilon, self.fused = axis, momentum, epsilon, fused
        self.center, self.scale = center, scale
        self.renorm = renorm
        self._renormalization = Renormalization(renorm_momentum, renorm_clipping, epsilon) if renorm else None
        self.beta_initializer, self.gamma_initializer = beta_initializer, gamma_initializer
        self.moving_mean_initializer = moving_mean_initializer
        self.moving_variance_initializer = moving_variance_initializer
        self.beta_regularizer, self.gamma_regularizer = beta_regularizer, gamma_regularizer
        self.beta_constraint, self.gamma_constraint = beta_constraint, gamma_constraint

    def build(self, input_shape: Any) -> None:
        shape = [known_channels(input_shape, self.axis, self)]
        # Statistics of half-precision inputs are kept in float32.
        dtype = "float32" if self._dtype is None or self._dtype.size < 4 else self._dtype
        self.gamma = self.beta = None
        if self.scale:
            self.gamma = self.add_weight(
                "gamma", shape, dtype, self.gamma_initializer, self.gamma_regularizer, constraint=self.gamma_constraint
            )
        if self.center:
            self.beta = self.add_weight(
                "beta", shape, dtype, self.beta_initializer, self.beta_regularizer, constraint=self.beta_constraint
            )
        if self._scope is not None:
            self._scope.set_partitioner(None)  # moving averages belong to whole variables
        self.moving_mean = self.add_weight("moving_mean", shape, dtype, self.moving_mean_initializer, trainable=False)
        self.moving_variance = self.add_weight(
            "moving_variance", shape, dtype, self.moving_variance_initializer, trainable=False
        )
        if self._renormalization is not None:
            self._renormalization.build(
                lambda name, initializer: self.add_weight(name, shape, dtype, initializer, trainable=False),
                self.moving_mean_initializer,
                self.moving_variance_initializer,
            )

    def call(self, inputs: Tensor, training: Any = False, *args: Any, **kwargs: Any) -> Tensor:
        rank = inputs.shape.rank
        axis = self.axis % rank
        if self._fuses(inputs, rank, axis):
            return self._call_fused(inputs, training, "NCHW" if axis == 1 else "NHWC")
        axes = [i for i in range(rank) if i != axis]
        wide = cast(inputs, self.moving_mean.dtype.base_dtype)
        batch = choose(
            training, lambda: nn.moments(wide, axes), lambda: (self.moving_mean.value(), self.moving_variance.value())
        )
        scale, offset = self.gamma, self.beta
        if known_truth(training) is None:
            more_nodes(14 if self._renormalization is None else 5)  # conditionals of TensorFlow
        if self._renormalization is None:
            self._follow(inputs, training, *batch)
        else:
            ratio, shift, *followed = self._renormalization.corrections(batch[0], batch[1], training)
            self._follow_deviations(training, *followed)
            shift = shift if scale is None else shift * scale
            scale = ratio if scale is None else ratio * scale
            offset = shift if offset is None else shift + offset

        def spread(vector: Any) -> Any:
            if vector is None or axis == rank - 1:
                return vector
            return reshape(vector, [-1 if i == axis else 1 for i in range(rank)])

        outputs = nn.batch_normalization(
            wide, spread(batch[0]), spread(batch[1]), spread(offset), spread(scale), self.epsilon
        )
        outputs = cast(outputs, inputs.dtype)
        outputs.set_shape(inputs.shape)
        return outputs

    def _fuses(self, inputs: Tensor, rank: int, axis: int) -> bool:
        """Whether to use the fused op for images: whenever possible, unless `fused` is False."""
        if self.fused and rank == 4 and axis not in (1, 3):
            raise ValueError(f"Unsupported axis: fused batch norm normalises axis 1 or 3, got {self.axis}")
        if self._renormalization is not None:
            return False
        return self.fused is not False and rank == 4 and axis in (1, 3) and inputs.dtype.size <= 4

    def _call_fused(self, inputs: Tensor, training: Any, data_format: str) -> Tensor:
        """Like `call`, for images in one op. The variance that `moving_variance` follows has Bessel's correction."""
        size = self.moving_mean.shape
        gamma = ones(size) if self.gamma is None else self.gamma
        beta = zeros(size) if self.beta is None else self.beta

        def normalized(mean: Any = None, variance: Any = None) -> Any:
            return nn.fused_batch_norm(
                inputs, gamma, beta, mean, variance, self.epsilon, data_format, is_training=mean is None
            )

        outputs, mean, variance = choose(
            training, normalized, lambda: normalized(self.moving_mean, self.moving_variance)
        )
        known = known_truth(training)
        more_nodes(0 if known is None else 3 if known else 1)
        self._follow(inputs, training, mean, variance)
        outputs.set_shape(inputs.shape)
        return outputs

    def _follow(self, inputs: Tensor, training: Any, mean: Tensor, variance: Tensor) -> None:
        """In training, update the moving statistics by those of the batch of `inputs`."""
        if known_truth(training) is False:
            return
        # Outside training the momentum is 1: the moving statistics stay.
        keep = choose(training, lambda: self.momentum, lambda: 1.0)
        for moving, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
            self.add_update(assign_moving_average(moving, value, keep, zero_debias=False))

    def _follow_deviations(self, training: Any, mean: Tensor, variance: Tensor) -> None:
        """`_follow`, where the moving variance is made of a moving deviation."""
        renormalization: Any = self._renormalization

        def follow_mean() -> Any:
            return assign_moving_average(self.moving_mean, mean, self.momentum, zero_debias=False)

        def follow_variance() -> Any:
            return renormalization.follow(self.moving_variance, variance, self.momentum)

        for follow, moving in ((follow_mean, self.moving_mean), (follow_variance, self.moving_variance)):
            self.add_update(choose(training, follow, lambda moving=moving: identity(moving)))


@export("layers.batch_normalization")
def batch_normalization(
    inputs: Any, axis: int = -1, momentum: float = 0.99, epsilon: float = 1e-3, center: bool = True,
    scale: bool = True, training: Any = False, trainable: bool = True, name: str | None = None,
    reuse: Any = None, **kwargs: Any,
) -> Tensor:  # fmt: skip
    """`inputs` normalised by the statistics of its batch, or, outside training, by moving statistics.

    TF: tf.layers.batch_normalization.

    Variables "gamma", "beta", "moving_mean" and "moving_variance" [size of `axis`]; further arguments are those
    of the layer. `training` is a Python bool or a tensor. In training, run the ops of the collection UPDATE_OPS:

        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train_op = optimizer.minimize(loss)
    """
    layer = BatchNormalization(
        axis, momentum, epsilon, center, scale, trainable=trainable, name=name, _reuse=reuse, _scope=name, **kwargs
    )
    return layer(inputs, training=training)
