"""`create_train_op`, and transformations of gradients (TF: tf.contrib.training.create_train_op)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock import logging, summary
from penstock.client.variables import trainable_variables
from penstock.export import export
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, control_dependencies, get_collection, get_collection_ref, name_scope
from penstock.ops.basic import no_op, with_dependencies
from penstock.ops.cast import cast
from penstock.ops.clip import clip_by_norm, global_norm
from penstock.ops.passing import check_numerics as check_finite
from penstock.train.global_step import get_or_create_global_step
from penstock.train.optimizer import Optimizer

_USE_GLOBAL_STEP = 0
Pairs = list[tuple[Any, Any]]


def change_values(grad: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """A gradient with its values replaced."""
    if isinstance(grad, IndexedSlices):
        return IndexedSlices(change(grad.values), grad.indices, grad.dense_shape)
    return None if grad is None else change(grad)


@export("contrib.training.clip_gradient_norms")
def clip_gradient_norms(gradients_to_variables: Any, max_norm: Any) -> Pairs:
    """(gradient, variable) pairs, each gradient scaled down to a norm of at most `max_norm`."""
    return [
        (change_values(grad, lambda values: clip_by_norm(values, max_norm)), v) for grad, v in gradients_to_variables
    ]


@export("contrib.training.clip_gradient_norms_fn")
def clip_gradient_norms_fn(max_norm: Any) -> Callable[[Any], Pairs]:
    """`clip_gradient_norms` for `transform_grads_fn`."""
    return lambda pairs: clip_gradient_norms(pairs, max_norm)


@export("contrib.training.multiply_gradients")
def multiply_gradients(grads_and_vars: Any, gradient_multipliers: Any) -> Pairs:
    """(gradient, variable) pairs, multiplied by the numbers in a dict from variables or their op names.

    Raises ValueError for what is not a list or not a dict, an empty dict, and a variable in it without a gradient.
    """
    if not isinstance(grads_and_vars, list):
        raise ValueError(f"`grads_and_vars` must be a list, got {grads_and_vars!r}")
    if not isinstance(gradient_multipliers, dict) or not gradient_multipliers:
        raise ValueError(f"`gradient_multipliers` must be a dict that is not empty, got {gradient_multipliers!r}")
    found = []
    for grad, variable in grads_and_vars:
        keys = [key for key in (variable, variable.op.name) if key in gradient_multipliers]
        if keys:
            if grad is None:
                raise ValueError(f"{variable.op.name} has no gradient to be multiplied")
            factor = cast(convert_to_tensor(gradient_multipliers[keys[0]]), grad.dtype.base_dtype)
            grad = change_values(grad, lambda values, factor=factor: values * factor)  # type: ignore[misc]
        found.append((grad, variable))
    return found


@export("contrib.training.add_gradients_summaries")
def add_gradients_summaries(grads_and_vars: Any) -> list[Tensor]:
    """A histogram and the norm of each gradient, as summaries."""
    summaries = []
    for grad, variable in grads_and_vars:
        if grad is None:
            logging.info("Var %s has no gradient", variable.op.name)
            continue
        values = grad.values if isinstance(grad, IndexedSlices) else grad
        summaries.append(summary.histogram(f"{variable.op.name}/gradient", values))
        summaries.append(summary.scalar(f"{variable.op.name}/gradient_norm", global_norm([values])))
    return summaries


@export("contrib.training.create_train_op")
def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = _USE_GLOBAL_STEP,
    update_ops: Any = None,
    variables_to_train: Any = None,
    transform_grads_fn: Any = None,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: int | None = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Tensor:
    """The loss as a tensor that also takes a training step when it runs (TF: tf.contrib.training.create_train_op).

    global_step: counts the steps (by default the graph's, created if there is none; None for no counting). update_ops:
    run before the loss (by default those in UPDATE_OPS). variables_to_train: by default all trainable ones; raises
    ValueError for others. transform_grads_fn: a function of the (gradient, variable) pairs. check_numerics: raise
    InvalidArgumentError in a step whose loss is not finite. It joins TRAIN_OP.
    """
    if global_step is _USE_GLOBAL_STEP:
        global_step = get_or_create_global_step()
    collected = get_collection(GraphKeys.UPDATE_OPS)
    first = collected if update_ops is None else list(update_ops)
    if not set(collected) <= set(first):
        logging.warning("update_ops in create_train_op does not contain all the update_ops in GraphKeys.UPDATE_OPS")
    if first:
        with control_dependencies(list(dict.fromkeys(first))):
            barrier = no_op(name="update_barrier")
        total_loss = with_dependencies([barrier], total_loss)
    variables = trainable_variables() if variables_to_train is None else list(variables_to_train)
    untrained = [v.name for v in variables if not v.trainable and v not in trainable_variables()]
    if untrained or not variables:
        raise ValueError(f"There are no variables to train, or these are not trainable: {untrained}")
    pairs = optimizer.compute_gradients(
        total_loss, variables, gate_gradients=gate_gradients, aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )  # fmt: skip
    if transform_grads_fn is not None:
        pairs = transform_grads_fn(pairs)
    if summarize_gradients:
        with name_scope("summarize_grads"):
            add_gradients_summaries(pairs)
    updates = optimizer.apply_gradients(pairs, global_step=global_step)
    with name_scope("train_op"):
        if check_numerics:
            total_loss = check_finite(total_loss, "LossTensor is inf or nan")
        train_op = with_dependencies([updates], total_loss)
    train_ops = get_collection_ref(GraphKeys.TRAIN_OP)
    if train_op not in train_ops:
        train_ops.append(train_op)
    return train_op
