"""What metrics share: their variables, how weights are matched to values, and what a metric returns.

A metric is a pair `(value, update_op)`: running `update_op` adds a batch to the metric's local variables and returns
the metric so far; `value` reads it.
"""

from __future__ import annotations

from typing import Any

from penstock.client.variable import Variable, VariableAggregation, VariableSynchronization
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import GraphKeys, control_dependencies, get_default_graph, name_scope
from penstock.ops.array import expand_dims, rank, squeeze
from penstock.ops.basic import no_op
from penstock.ops.cast import cast
from penstock.ops.confusion_matrix import remove_squeezable_dimensions
from penstock.ops.control_flow.cond import cond
from penstock.ops.division import div_no_nan
from penstock.ops.filling import ones_like, zeros
from penstock.ops.logging import Assert
from penstock.tensor.dtypes import float32

Collections = Any
"""None, the name of a collection, or a list of names."""

Metric = tuple[Any, Any]


def metric_variable(shape: Any, dtype: Any, validate_shape: bool = True, name: str | None = None) -> Any:
    """A variable of zeros in the collections LOCAL_VARIABLES and METRIC_VARIABLES."""
    return Variable(
        lambda: zeros(shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        validate_shape=validate_shape,
        synchronization=VariableSynchronization.ON_READ,
        aggregation=VariableAggregation.SUM,
        name=name,
    )


def add_to(collections: Collections, tensor: Tensor) -> None:
    if collections:
        get_default_graph().add_to_collections(collections, tensor)


def finish(value: Any, update_op: Any, metrics_collections: Collections, updates_collections: Collections) -> Metric:
    """The pair, after adding each part to its collections."""
    add_to(metrics_collections, value)
    add_to(updates_collections, update_op)
    return value, update_op


def ratio(numerator: Any, denominator: Any, name: str | None = None) -> Tensor:
    """numerator / denominator, or 0 where the denominator is not positive."""
    return div_no_nan(numerator, get_op("Maximum")(denominator, 0), name=name)


# --- labels, predictions and weights --------------------------------------------------------------------


def fitted(
    predictions: Any, labels: Any, weights: Any, types: tuple[Any, Any] = (None, None)
) -> tuple[Tensor, Any, Any]:
    """`(predictions, labels, weights)`, without last dims of 1 that only one of them has.

    `types`: the dtypes that predictions and labels are cast to first. `labels` and `weights` may be None. Raises
    ValueError if static shapes disagree.
    """
    predictions = cast(predictions, types[0]) if types[0] else convert_to_tensor(predictions)
    if labels is not None:
        labels = cast(labels, types[1]) if types[1] else convert_to_tensor(labels)
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
    if weights is None:
        return predictions, labels, None
    return predictions, labels, _ranked(convert_to_tensor(weights), predictions)


def _ranked(weights: Tensor, values: Tensor) -> Tensor:
    """Weights with the rank of `values` (or a scalar): a last dim of 1 is added or removed."""
    have, want = weights.shape.ndims, values.shape.ndims
    if have == 0:
        return weights
    if have is not None and want is not None:
        if have - want == 1:
            return squeeze(weights, [-1])
        return expand_dims(weights, -1) if want - have == 1 else weights
    more = rank(weights) - rank(values)

    def added() -> Tensor:
        return cond(get_op("Equal")(more, -1), lambda: expand_dims(weights, [-1]), lambda: weights)

    last = weights.shape.as_list()[-1] if have is not None else None
    if last not in (None, 1):
        fitting = added()
    else:
        fitting = cond(get_op("Equal")(more, 1), lambda: squeeze(weights, [-1]), added)
    return cond(get_op("Equal")(rank(weights), 0), lambda: weights, lambda: fitting)


def assert_broadcastable(weights: Any, values: Any) -> Operation:
    """An operation that fails unless `weights` are a scalar, or have the rank of `values` with each dim 1 or equal.

    Raises ValueError if static shapes show that they are not.
    """
    weights, values = convert_to_tensor(weights, name="weights"), convert_to_tensor(values, name="values")
    have, want = weights.shape, values.shape
    if have.ndims == 0:
        return no_op("static_scalar_check_success")
    message = "weights can not be broadcast to values. "
    if have.ndims is not None and want.ndims is not None:
        if have.ndims != want.ndims:
            raise ValueError(f"{message}values.rank={want.ndims}. weights.rank={have.ndims}.")
        pairs = list(zip(have.as_list(), want.as_list(), strict=True))
        if any(a is not None and b is not None and a not in (1, b) for a, b in pairs):
            raise ValueError(f"{message}values.shape={want}. weights.shape={have}.")
        if all(a == 1 or (a == b and a is not None) for a, b in pairs):
            return no_op("static_dims_check_success")
    weights_shape, values_shape = get_op("Shape")(weights), get_op("Shape")(values)
    same_rank = get_op("Equal")(rank(weights), rank(values))

    def dims_fit() -> Tensor:
        ones = get_op("OnesLike")(weights_shape)
        fits = get_op("LogicalOr")(get_op("Equal")(weights_shape, values_shape), get_op("Equal")(weights_shape, ones))
        return get_op("All")(fits, [0])

    is_scalar = get_op("Equal")(rank(weights), 0)
    fits = get_op("LogicalOr")(is_scalar, cond(same_rank, dims_fit, lambda: get_op("Identity")(same_rank)))
    data = [message, "weights.shape=", weights_shape, "values.shape=", values_shape]
    return Assert(fits, data)


def broadcast_weights(weights: Any, values: Tensor, dtype: Any = float32) -> Tensor:
    """`weights` in the shape of `values`; raises ValueError, or InvalidArgumentError in the step, if they do not
    fit."""
    with name_scope(None, "broadcast_weights", [weights, values]) as scope:
        values = convert_to_tensor(values, name="values")
        weights = cast(weights, dtype)
        if weights.shape.is_fully_defined() and weights.shape == values.shape:
            return weights
        with control_dependencies([assert_broadcastable(weights, values)]):
            return get_op("Mul")(weights, ones_like(values, dtype), name=scope)
