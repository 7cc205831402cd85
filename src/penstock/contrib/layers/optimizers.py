"""`optimize_loss`: a train op from a loss in one call (TF: tf.contrib.layers.optimize_loss)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock import summary, train
from penstock.client.initializers import constant_initializer
from penstock.client.variable_scope import get_variable, variable_scope
from penstock.client.variables import trainable_variables
from penstock.contrib.training.train_ops import change_values
from penstock.export import export
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, get_collection, name_scope
from penstock.ops.arithmetic import maximum, minimum
from penstock.ops.array import shape as shape_of
from penstock.ops.basic import with_dependencies
from penstock.ops.cast import cast
from penstock.ops.clip import clip_by_global_norm, global_norm
from penstock.ops.compare import less
from penstock.ops.filling import ones_like
from penstock.ops.partition import where
from penstock.ops.random import truncated_normal
from penstock.ops.unary import exp, log, sqrt, square
from penstock.tensor.dtypes import float32

Pairs = list[tuple[Any, Any]]


def _momentum(learning_rate: Any) -> train.Optimizer:
    return train.MomentumOptimizer(learning_rate, momentum=0.9)


OPTIMIZER_CLS_NAMES: dict[str, Callable[..., train.Optimizer]] = {
    "Adagrad": train.AdagradOptimizer,
    "Adam": train.AdamOptimizer,
    "Ftrl": train.FtrlOptimizer,
    "Momentum": _momentum,
    "RMSProp": train.RMSPropOptimizer,
    "SGD": train.GradientDescentOptimizer,
}

OPTIMIZER_SUMMARIES = ["learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm"]


@export("contrib.layers.optimize_loss", "contrib.slim.optimize_loss")
def optimize_loss(
    loss: Any,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Any = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Any = None,
    update_ops: Any = None,
    variables: Any = None,
    name: Any = None,
    summaries: Any = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Tensor:
    """The loss as a tensor that also takes a training step when it runs (TF: tf.contrib.layers.optimize_loss).

    loss: a scalar. global_step: None for the graph's (if any); it is incremented unless `increment_global_step` is
    False. learning_rate: a float (kept in a variable), a scalar tensor, or None; `learning_rate_decay_fn(rate, step)`
    changes it. optimizer: a name ("SGD", "Adam", "Momentum", …), a class, a function of the rate (or of nothing), or an
    Optimizer. gradient_multipliers: a dict from variables or their names to numbers.
    clip_gradients: the maximum global norm, or a function of the (gradient, variable) pairs. update_ops: run before the
    loss (those in UPDATE_OPS). summaries: some of OPTIMIZER_SUMMARIES, or one (by default all cheap ones).

    Raises ValueError for invalid arguments.
    """
    loss = convert_to_tensor(loss)
    if loss.shape.ndims not in (0, None):
        raise ValueError(f"loss must be a scalar, got shape {loss.shape}")
    if global_step is None:
        global_step = train.get_global_step()
    else:
        train.assert_global_step(global_step)
    if summaries is None:
        summaries = ["loss", "learning_rate", "global_gradient_norm"]
    elif isinstance(summaries, str):  # as until TensorFlow 1.1
        summaries = [summaries]
    unknown = [s for s in summaries if s not in OPTIMIZER_SUMMARIES]
    if unknown:
        raise ValueError(f"Summaries should be one of {OPTIMIZER_SUMMARIES}, you provided {unknown}")
    with variable_scope(name, "OptimizeLoss", [loss, global_step]):
        first = get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else list(update_ops)
        if first:
            loss = with_dependencies(list(dict.fromkeys(first)), loss)
        rate = _rate(learning_rate)
        if rate is not None and learning_rate_decay_fn is not None:
            if global_step is None:
                raise ValueError("global_step is required for learning_rate_decay_fn.")
            rate = learning_rate_decay_fn(rate, global_step)
            if "learning_rate" in summaries:
                summary.scalar("learning_rate", rate)
        chosen = _optimizer(optimizer, rate)
        pairs = chosen.compute_gradients(
            loss,
            trainable_variables() if variables is None else variables,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gradient_noise_scale is not None:
            pairs = _with_noise(pairs, gradient_noise_scale)
        if gradient_multipliers is not None:
            pairs = _multiplied(pairs, gradient_multipliers)
        wants_norm = "global_gradient_norm" in summaries or "gradient_norm" in summaries
        if wants_norm:
            summary.scalar("global_norm/gradient_norm", global_norm([g for g, _ in pairs]))
        if clip_gradients is not None:
            pairs = _clipped(pairs, clip_gradients)
        if "loss" in summaries:
            summary.scalar("loss", loss)
        _summarize(pairs, summaries)
        if wants_norm and clip_gradients is not None:
            summary.scalar("global_norm/clipped_gradient_norm", global_norm([g for g, _ in pairs]))
        step = global_step if increment_global_step else None
        return with_dependencies([chosen.apply_gradients(pairs, global_step=step, name="train")], loss)


def _rate(learning_rate: Any) -> Any:
    """A float as a variable, so that checkpoints contain it; None and scalar tensors are unchanged."""
    if learning_rate is None or (isinstance(learning_rate, Tensor) and learning_rate.shape.ndims == 0):
        return learning_rate
    if not isinstance(learning_rate, float):
        raise ValueError(f"Learning rate should be 0d Tensor or float. Got {learning_rate!r}")
    if learning_rate < 0:
        raise ValueError(f"Invalid learning_rate {learning_rate}")
    return get_variable("learning_rate", [], trainable=False, initializer=constant_initializer(learning_rate))


def _optimizer(optimizer: Any, rate: Any) -> Any:
    if isinstance(optimizer, train.Optimizer):
        return optimizer
    if isinstance(optimizer, str):
        if optimizer not in OPTIMIZER_CLS_NAMES:
            raise ValueError(f"Optimizer name should be one of {list(OPTIMIZER_CLS_NAMES)}, you provided {optimizer}")
    elif not callable(optimizer):
        raise ValueError(f"optimizer must be a name, a class, a function or an Optimizer, got {optimizer!r}")
    if rate is None and (isinstance(optimizer, str) or _is_class(optimizer)):
        raise ValueError(f"Learning rate is None, but should be specified if optimizer is {optimizer}")
    if isinstance(optimizer, str):
        return OPTIMIZER_CLS_NAMES[optimizer](learning_rate=rate)
    if _is_class(optimizer):
        return optimizer(learning_rate=rate)
    made = optimizer() if rate is None else optimizer(rate)
    if not isinstance(made, train.Optimizer):
        raise ValueError(f"The function should return an Optimizer, got {made!r}")
    return made


def _is_class(optimizer: Any) -> bool:
    return isinstance(optimizer, type) and issubclass(optimizer, train.Optimizer)


# --- gradients ------------------------------------------------------------------------------------------


def _with_noise(pairs: Pairs, scale: float) -> Pairs:
    def noisy(values: Tensor) -> Tensor:
        dims = values.shape if values.shape.is_fully_defined() else shape_of(values)
        return values + truncated_normal(dims, dtype=values.dtype.base_dtype) * scale

    return [(change_values(grad, noisy), variable) for grad, variable in pairs]


def _multiplied(pairs: Pairs, multipliers: Any) -> Pairs:
    found = []
    for grad, variable in pairs:
        factor = next((multipliers[k] for k in (variable, variable.name) if k in multipliers), None)
        if grad is not None and factor is not None:
            factor = cast(convert_to_tensor(factor), grad.dtype.base_dtype)
            grad = change_values(grad, lambda values, factor=factor: values * factor)  # type: ignore[misc]
        if grad is not None:
            found.append((grad, variable))
    if not found:
        raise ValueError(f"No gradients are left: look at gradient_multipliers, {multipliers!r}")
    return found


def _clipped(pairs: Pairs, clip_gradients: Any) -> Pairs:
    if callable(clip_gradients):
        return clip_gradients(pairs)
    if not isinstance(clip_gradients, float):
        raise ValueError(f"clip_gradients must be a float or a function, got {clip_gradients!r}")
    clipped, _ = clip_by_global_norm([g for g, _ in pairs], clip_gradients)
    return [(grad, variable) for grad, (_, variable) in zip(clipped, pairs, strict=True)]


def _summarize(pairs: Pairs, summaries: Any) -> None:
    for grad, variable in pairs:
        values = grad.values if isinstance(grad, IndexedSlices) else grad
        name = variable.name.replace(":", "_")
        if values is not None and "gradients" in summaries:
            summary.histogram(f"gradients/{name}", values)
        if values is not None and "gradient_norm" in summaries:
            summary.scalar(f"gradient_norm/{name}", global_norm([values]))


@export("contrib.layers.adaptive_clipping_fn", "contrib.slim.adaptive_clipping_fn")
def adaptive_clipping_fn(
    std_factor: float = 2.0,
    decay: float = 0.95,
    static_max_norm: float | None = None,
    global_step: Any = None,
    report_summary: bool = False,
    epsilon: float = 1e-8,
    name: Any = None,
) -> Callable[[Pairs], Pairs]:
    """For `clip_gradients`: clips according to the usual global norm (TF: tf.contrib.layers.adaptive_clipping_fn).

    Mean and deviation of the norm's logarithm are averaged over steps (Aaron et al. 2014, section 3.2.1); a norm beyond
    exp(mean + std_factor * deviation), or `static_max_norm`, is scaled to exp(mean).
    """

    def clip(pairs: Pairs) -> Pairs:
        norm = global_norm([g for g, _ in pairs])
        if norm is None:  # there are no gradients
            return pairs
        with variable_scope(name, "AdaptiveMaxNorm", [norm]):
            amount: Any = decay
            if global_step is not None:  # adapts faster at first
                steps = cast(global_step, float32)
                amount = minimum(decay, steps / (steps + 1.0))

            def average(what: str, value: Tensor) -> Tensor:
                held = get_variable(what, [], value.dtype, constant_initializer(0.0), trainable=False)
                return convert_to_tensor(train.assign_moving_average(held, value, amount, zero_debias=False))

            logarithm = log(norm + epsilon)
            mean, squares = average("mean", logarithm), average("sq_mean", square(logarithm))
            limit = exp(mean + std_factor * sqrt(maximum(epsilon, squares - square(mean))))
            if static_max_norm is not None:
                limit = minimum(limit, static_max_norm)
            factor = where(less(norm, limit), ones_like(norm), exp(mean) / norm)
        if report_summary:
            summary.scalar("global_norm/adaptive_max_gradient_norm", limit)
        with name_scope("clip"):
            return [
                (change_values(g, lambda values: values * cast(factor, values.dtype.base_dtype)), v) for g, v in pairs
            ]

    return clip
