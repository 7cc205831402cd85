"""Penalties for weights (TF: tf.contrib.layers.l2_regularizer, …)."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from penstock import nn
from penstock.export import export
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, add_to_collection, get_collection, name_scope
from penstock.ops.add_n import add_n
from penstock.ops.arithmetic import multiply
from penstock.ops.reduce import reduce_sum
from penstock.ops.unary import abs

Regularizer = Callable[[Any], Tensor | None]


@export("contrib.layers.l1_regularizer", "contrib.slim.l1_regularizer")
def l1_regularizer(scale: Any, scope: str | None = None) -> Regularizer:
    """A function of weights: scale * sum(|weights|); None for a scale of 0 (TF: tf.contrib.layers.l1_regularizer).

    scale: a float or a scalar tensor. Raises ValueError for an integer or a negative number.
    """
    return _scaled(scale, scope, "l1_regularizer", lambda weights: reduce_sum(abs(weights)))


@export("contrib.layers.l2_regularizer", "contrib.slim.l2_regularizer")
def l2_regularizer(scale: Any, scope: str | None = None) -> Regularizer:
    """A function of weights: scale * sum(weights ** 2) / 2; see `l1_regularizer`."""
    return _scaled(scale, scope, "l2_regularizer", nn.l2_loss)


def _scaled(scale: Any, scope: str | None, name: str, penalty: Callable[[Any], Tensor]) -> Regularizer:
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real):
        if scale < 0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale:g}")
        if scale == 0:
            return lambda _: None

    def regularizer(weights: Any) -> Tensor:
        with name_scope(scope, name, [weights]) as opened:
            factor = convert_to_tensor(scale, weights.dtype.base_dtype, name="scale")
            return multiply(factor, penalty(weights), name=opened)

    return regularizer


@export("contrib.layers.l1_l2_regularizer", "contrib.slim.l1_l2_regularizer")
def l1_l2_regularizer(scale_l1: Any = 1.0, scale_l2: Any = 1.0, scope: str | None = None) -> Any:
    """The sum of both; one alone if the other's scale is 0."""
    for scale in (scale_l1, scale_l2):
        if isinstance(scale, numbers.Integral):
            raise ValueError(f"scale cannot be an integer: {scale}")
    scope = scope or "l1_l2_regularizer"
    if isinstance(scale_l1, numbers.Real) and scale_l1 == 0:
        return l2_regularizer(scale_l2, scope)
    if isinstance(scale_l2, numbers.Real) and scale_l2 == 0:
        return l1_regularizer(scale_l1, scope)
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope)


@export("contrib.layers.sum_regularizer", "contrib.slim.sum_regularizer")
def sum_regularizer(regularizer_list: Any, scope: str | None = None) -> Regularizer | None:
    """A function of weights: the sum of the regularizers that are not None."""
    regularizers = [r for r in regularizer_list if r is not None]
    if not regularizers:
        return None

    def regularizer(weights: Any) -> Tensor | None:
        with name_scope(scope, "sum_regularizer", [weights]) as opened:
            found = [loss for loss in (r(weights) for r in regularizers) if loss is not None]
            return add_n(found, name=opened) if found else None

    return regularizer


@export("contrib.layers.apply_regularization", "contrib.slim.apply_regularization")
def apply_regularization(regularizer: Regularizer, weights_list: Any = None) -> Tensor:
    """The sum of `regularizer` over `weights_list` (by default the collection WEIGHTS); it joins REGULARIZATION_LOSSES.

    Raises ValueError without weights, or for a regularizer whose result is not a scalar. TF:
    tf.contrib.layers.apply_regularization.
    """
    weights_list = weights_list or get_collection(GraphKeys.WEIGHTS)
    if not weights_list:
        raise ValueError("No weights to regularize.")
    with name_scope("get_regularization_penalty", values=weights_list) as scope:
        found = [regularizer(w) for w in weights_list]
        penalties = [constant(0.0) if p is None else p for p in found]
        for penalty in penalties:
            if penalty.shape.ndims != 0:
                raise ValueError(f"regularizer must return a scalar, got {penalty}")
        total = add_n(penalties, name=scope)
        add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
        return total
