"""Loss scaling before tf.train.experimental: managers of the scale, and the optimizer that asks them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from penstock.client.variable import Variable
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Operation, Tensor
from penstock.ops.arithmetic import maximum
from penstock.ops.basic import group, no_op
from penstock.tensor.dtypes import float32, int32
from penstock.train.loss_scale import ScalingOptimizer, all_finite, choose, if_finite
from penstock.train.optimizer import Optimizer


@export("contrib.mixed_precision.LossScaleManager")
class LossScaleManager(ABC):
    """The older form of a LossScale. TF: tf.contrib.mixed_precision.LossScaleManager."""

    @abstractmethod
    def get_loss_scale(self) -> Any:
        """The current scale: a float32 scalar."""

    @abstractmethod
    def update_loss_scale(self, finite_grads: Tensor) -> Operation:
        """An operation that adapts the scale; `finite_grads`: whether all gradients of the step are finite."""


@export("contrib.mixed_precision.FixedLossScaleManager")
class FixedLossScaleManager(LossScaleManager):
    """Always the same number; raises ValueError if it is less than 1."""

    def __init__(self, loss_scale: float) -> None:
        if loss_scale < 1:
            raise ValueError("loss scale must be at least 1.")
        self._loss_scale = convert_to_tensor(loss_scale, dtype=float32)

    def get_loss_scale(self) -> Tensor:
        return self._loss_scale

    def update_loss_scale(self, finite_grads: Tensor) -> Operation:
        return no_op()


@export("contrib.mixed_precision.ExponentialUpdateLossScaleManager")
class ExponentialUpdateLossScaleManager(LossScaleManager):
    """Multiplied by `incr_ratio` after `incr_every_n_steps` consecutive steps with finite gradients; multiplied by
    `decr_ratio` (but not below 1) after `decr_every_n_nan_or_inf` steps, consecutive or not, with gradients that are
    not finite. Both counts restart when the scale changes."""

    def __init__(
        self,
        init_loss_scale: float,
        incr_every_n_steps: int,
        decr_every_n_nan_or_inf: int = 2,
        incr_ratio: float = 2,
        decr_ratio: float = 0.8,
    ) -> None:
        self._incr_every_n_steps, self._decr_every_n_nan_or_inf = incr_every_n_steps, decr_every_n_nan_or_inf
        self._incr_ratio, self._decr_ratio = float(incr_ratio), float(decr_ratio)
        self._loss_scale = Variable(float(init_loss_scale), trainable=False, name="loss_scale", dtype=float32)
        self._num_good_steps = Variable(0, trainable=False, name="good_steps", dtype=int32)
        self._num_bad_steps = Variable(0, trainable=False, name="bad_steps", dtype=int32)

    def get_loss_scale(self) -> Any:
        return self._loss_scale

    def update_loss_scale(self, finite_grads: Tensor) -> Operation:
        scale = convert_to_tensor(self._loss_scale)
        good, bad = convert_to_tensor(self._num_good_steps) + 1, convert_to_tensor(self._num_bad_steps) + 1
        grow, shrink = good >= self._incr_every_n_steps, bad >= self._decr_every_n_nan_or_inf
        larger = if_finite(scale * self._incr_ratio, scale)
        smaller = maximum(scale * self._decr_ratio, 1.0)
        return group(
            self._loss_scale.assign(choose(finite_grads, choose(grow, larger, scale), choose(shrink, smaller, scale))),
            self._num_good_steps.assign(choose(finite_grads, choose(grow, 0, good), 0)),
            self._num_bad_steps.assign(choose(finite_grads, choose(grow, 0, bad - 1), choose(shrink, 0, bad))),
        )


@export("contrib.mixed_precision.LossScaleOptimizer")
class LossScaleOptimizer(ScalingOptimizer):
    """An optimizer with loss scaling by a LossScaleManager; even with a fixed scale, steps whose gradients are not
    finite change nothing. TF: tf.contrib.mixed_precision.LossScaleOptimizer."""

    def __init__(self, opt: Optimizer, loss_scale_manager: LossScaleManager) -> None:
        super().__init__(opt)
        self._loss_scale_manager = loss_scale_manager

    def _scale(self) -> Any:
        return self._loss_scale_manager.get_loss_scale()

    def _update_scale(self, grads: list[Any]) -> tuple[Operation, Any]:
        finite = all_finite(grads)
        return self._loss_scale_manager.update_loss_scale(finite), finite
