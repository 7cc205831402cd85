"""Loss scaling, which small gradients need if they are computed in float16 (TF: tf.train.experimental).

The loss is multiplied by a number before gradients are taken, and the gradients are divided by it: in between, values
that float16 would round to zero are preserved. If the number is too large, gradients overflow; such a step changes no
variable, and a dynamic scale is reduced. bfloat16 has float32's range and needs none of this.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from penstock.client.trackable import Trackable, TrackableReference
from penstock.client.variable import Variable
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import get_default_graph
from penstock.ops.arithmetic import maximum
from penstock.ops.basic import group, no_op
from penstock.ops.cast import cast
from penstock.ops.control_flow.cond import cond
from penstock.ops.control_flow.nest import flatten
from penstock.ops.reduce import reduce_all
from penstock.ops.rounding import is_finite
from penstock.passes.reduced_precision import set_for_new_sessions
from penstock.tensor.dtypes import DType, float32, int64
from penstock.train.delegating import DelegatingOptimizer
from penstock.train.optimizer import GradAndVar, Optimizer

# --- the number -----------------------------------------------------------------------------------------


class LossScale(Trackable, ABC):
    """The factor for losses: calling it returns a float32 scalar. TF: tf.train.experimental.LossScale."""

    def __init__(self) -> None:
        self._weights: dict[Any, Any] = {}

    @abstractmethod
    def __call__(self) -> Tensor:
        """The current scale."""

    @abstractmethod
    def update(self, grads: Any) -> tuple[Operation, Any]:
        """An operation that adapts the scale to these gradients (a nest of them, unscaled; None is skipped), and
        whether they should be applied: a bool, or a bool scalar of the step."""

    @abstractmethod
    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal scale."""

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LossScale:
        return cls(**config)

    def _add_weight(self, name: str, initial_value: Any, dtype: DType | None = None) -> Any:
        """A variable of the scale; raises RuntimeError if the graph already has one of this name."""
        key = (name, get_default_graph())
        if key in self._weights:
            raise RuntimeError(f"Duplicate variables detected. {key}")
        weight = Variable(initial_value, trainable=False, name=name, dtype=dtype, use_resource=True)
        self._weights[key] = weight
        return weight

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """Its variables in the current graph."""
        own = [(name, weight) for (name, graph), weight in self._weights.items() if graph is get_default_graph()]
        return [TrackableReference(name, weight) for name, weight in sorted(own, key=lambda pair: pair[0])]


class FixedLossScale(LossScale):
    """Always the same number. TF: tf.train.experimental.FixedLossScale."""

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        if not isinstance(loss_scale_value, int | float):
            raise ValueError("loss_scale_value must be a Python int or float.")
        if loss_scale_value < 1:
            raise ValueError("loss_scale_value must be at least 1.")
        self._loss_scale_value = float(loss_scale_value)

    def __call__(self) -> Tensor:
        return convert_to_tensor(self._loss_scale_value)

    def update(self, grads: Any) -> tuple[Operation, Any]:
        return no_op(), True

    def __repr__(self) -> str:
        return f"FixedLossScale({self._loss_scale_value})"

    def get_config(self) -> dict[str, Any]:
        return {"loss_scale_value": self._loss_scale_value}


class DynamicLossScale(LossScale):
    """As large as gradients allow: multiplied by `multiplier` after `increment_period` consecutive steps with finite
    gradients, divided by it (but not below 1) after a step with a gradient that is not finite.

    TF: tf.train.experimental.DynamicLossScale.
    """

    def __init__(
        self, initial_loss_scale: float = 2**15, increment_period: int = 2000, multiplier: float = 2.0
    ) -> None:
        super().__init__()
        self._initial_loss_scale = float(initial_loss_scale)
        self._increment_period = int(increment_period)
        self._multiplier = float(multiplier)
        self._current_loss_scale = self._add_weight("current_loss_scale", self._initial_loss_scale, float32)
        self._num_good_steps = self._add_weight("good_steps", 0, int64)

    @property
    def initial_loss_scale(self) -> float:
        return self._initial_loss_scale

    @property
    def increment_period(self) -> int:
        return self._increment_period

    @property
    def multiplier(self) -> float:
        return self._multiplier

    def __call__(self) -> Tensor:
        return convert_to_tensor(self._current_loss_scale)

    def update(self, grads: Any) -> tuple[Operation, Any]:
        finite = all_finite(flatten(grads))
        scale, good = self(), convert_to_tensor(self._num_good_steps) + 1
        grow = good >= self._increment_period
        kept = choose(grow, if_finite(scale * self._multiplier, scale), scale)
        new_scale = choose(finite, kept, maximum(scale / self._multiplier, 1.0))
        new_good = choose(finite, choose(grow, 0, good), 0)
        return group(self._current_loss_scale.assign(new_scale), self._num_good_steps.assign(new_good)), finite

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value}" for name, value in self.get_config().items())
        return f"DynamicLossScale({arguments})"

    def get_config(self) -> dict[str, Any]:
        return {
            "initial_loss_scale": self._initial_loss_scale,
            "increment_period": self._increment_period,
            "multiplier": self._multiplier,
        }


def get(identifier: Any) -> LossScale | None:
    """Converts to a loss scale: a number, "dynamic", a LossScale or None. Raises ValueError for anything else."""
    if isinstance(identifier, int | float):
        return FixedLossScale(identifier)
    if identifier == "dynamic":
        return DynamicLossScale()
    if identifier is None or isinstance(identifier, LossScale):
        return identifier
    raise ValueError(f"Could not interpret loss scale identifier: {identifier}")


def choose(condition: Any, yes: Any, no: Any) -> Tensor:
    """`yes` or `no`, both computed."""
    return get_op("SelectV2")(condition, yes, no)


def if_finite(value: Tensor, otherwise: Tensor) -> Tensor:
    """`value` if it is a finite number."""
    return choose(is_finite(value), value, otherwise)


def all_finite(grads: Iterable[Any]) -> Tensor:
    """Whether all elements of these gradients are finite: a bool scalar."""
    values = [grad.values if isinstance(grad, IndexedSlices) else grad for grad in grads if grad is not None]
    return reduce_all(convert_to_tensor([reduce_all(is_finite(value)) for value in values]))


# --- optimizers -----------------------------------------------------------------------------------------


class ScalingOptimizer(DelegatingOptimizer):
    """Computes gradients of a scaled loss for another optimizer, which applies them if they are finite."""

    _has_own_slots = False

    def __init__(self, opt: Optimizer) -> None:
        super().__init__(opt, opt.get_name(), opt._use_locking)
        self._track_trackable(opt, "base_optimizer")

    def _scale(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no _scale")

    def _update_scale(self, grads: list[Any]) -> tuple[Operation, Any]:
        """See `LossScale.update`."""
        raise NotImplementedError(f"{type(self).__name__} defines no _update_scale")

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[GradAndVar]:
        """Gradients of the loss, computed from the scaled loss and unscaled."""
        loss = loss() if callable(loss) and not hasattr(loss, "op") else loss
        scale = convert_to_tensor(self._scale())
        pairs = super().compute_gradients(loss * cast(scale, loss.dtype), *args, **kwargs)
        factor = 1.0 / scale
        return [(None if grad is None else _times(grad, factor), variable) for grad, variable in pairs]

    def apply_gradients(
        self, grads_and_vars: Iterable[GradAndVar], global_step: Any = None, name: str | None = None
    ) -> Operation:
        """Apply the gradients and count the step, unless one of them is not finite; always adapt the scale."""
        pairs = list(grads_and_vars)
        name = name or self.get_name()
        update, wanted = self._update_scale([grad for grad, _ in pairs])

        def apply() -> Operation:
            return self._opt.apply_gradients(pairs, global_step, f"{name}-wrapped")

        applied = apply() if wanted is True else cond(wanted, apply, no_op)
        return group(applied, update, name=name)


def _times(grad: Any, factor: Tensor) -> Any:
    if isinstance(grad, IndexedSlices):
        return IndexedSlices(_times(grad.values, factor), grad.indices, grad.dense_shape)
    return grad * cast(factor, grad.dtype)


class MixedPrecisionLossScaleOptimizer(ScalingOptimizer):
    """An optimizer with loss scaling. `loss_scale`: a number, "dynamic" or a LossScale.

    TF: tf.train.experimental.MixedPrecisionLossScaleOptimizer.
    """

    def __init__(self, opt: Optimizer, loss_scale: Any) -> None:
        if not isinstance(opt, Optimizer):
            raise ValueError(f'"opt" must be an instance of Optimizer, but got: {type(opt)}')
        super().__init__(opt)
        scale = get(loss_scale)
        if scale is None:
            raise ValueError("loss_scale cannot be None")
        self._loss_scale = self._track_trackable(scale, "loss_scale")

    def _scale(self) -> Tensor:
        return self._loss_scale()

    def _update_scale(self, grads: list[Any]) -> tuple[Operation, Any]:
        return self._loss_scale.update(grads)

    def variables(self) -> list[Any]:
        return [*super().variables(), *self._loss_scale._weights.values()]


# --- the rewrite and its optimizer ----------------------------------------------------------------------


def enable_mixed_precision_graph_rewrite(opt: Optimizer, loss_scale: Any = "dynamic") -> Optimizer:
    """Make sessions created from now on compute products in float16 on GPUs; returns `opt` with the loss scaling that
    this needs. Raises ValueError for what is not an optimizer, or already scales.

    TF: tf.train.experimental.enable_mixed_precision_graph_rewrite. The rewrite is in passes/reduced_precision.py.
    """
    if isinstance(opt, ScalingOptimizer):
        raise ValueError(
            f'"opt" must not already be an instance of a {type(opt).__name__}. '
            "`enable_mixed_precision_graph_rewrite` will automatically wrap the optimizer with a "
            "MixedPrecisionLossScaleOptimizer."
        )
    if not isinstance(opt, Optimizer):
        raise ValueError(f'"opt" must be an instance of a tf.train.Optimizer, but got: {opt}')
    wrapped = MixedPrecisionLossScaleOptimizer(opt, loss_scale)
    set_for_new_sessions(True)
    return wrapped


def disable_mixed_precision_graph_rewrite() -> None:
    """Make sessions created from now on compute in float32 again; optimizers stay unchanged."""
    if not set_for_new_sessions(False):
        logging.warning("disable_mixed_precision_graph_rewrite() called when mixed precision is already disabled.")
