"""Cross-entropy of sequences, with weights for each step (TF: tf.contrib.seq2seq, tf.contrib.legacy_seq2seq)."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Signature, signature
from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import more_nodes, name_scope
from penstock.ops.add_n import add_n
from penstock.ops.array import reshape, shape
from penstock.ops.cast import cast
from penstock.ops.division import DIV_NO_NAN
from penstock.ops.nn.cross_entropy import sparse_softmax_cross_entropy_with_logits
from penstock.ops.reduce import count_nonzero, reduce_sum


def _cross_entropy(labels: Any, logits: Any, function: Callable[..., Any] | None) -> Any:
    if function is None:
        return sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    try:
        taken = signature(function)
        taken.bind(labels=labels, logits=logits)
    except TypeError:  # functions older than TensorFlow 1.1 call them as they like
        return function(logits, labels) if _takes_labels_last(taken) else function(labels, logits)
    except ValueError:  # a function in C tells no names
        pass
    return function(labels=labels, logits=logits)


def _takes_labels_last(taken: Signature) -> bool:
    """Whether it is a function for TensorFlow 0.x, which gave it inputs first: `def sampled_loss(inputs, labels)`."""
    names = list(taken.parameters)
    return len(names) == 2 and names[1] in ("label", "labels", "target", "targets")


@export("contrib.seq2seq.sequence_loss")
def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Weighted cross-entropy of logits [batch, time, classes] with targets (ints [batch, time]).

    weights: floats [batch, time]; an average divides by their sum, and what TensorFlow calls a sum by the number of
    those that are not 0. The result is [], or [batch] if averaged or summed over time only, [time] over the batch only,
    otherwise [batch, time]. softmax_loss_function: takes `labels` and `logits`; replaces the sparse softmax. Raises
    ValueError for other ranks, or both an average and a sum (TF: tf.contrib.seq2seq.sequence_loss).
    """
    for where, averaged, summed in (
        ("across_timesteps", average_across_timesteps, sum_over_timesteps),
        ("across_batch", average_across_batch, sum_over_batch),
    ):
        if averaged and summed:
            over = where.replace("across", "over")
            raise ValueError(f"average_{where} and sum_{over} cannot be set to True at same time.")
    with name_scope(name, "sequence_loss", [logits, targets, weights]):
        logits, targets, weights = convert_to_tensor(logits), convert_to_tensor(targets), convert_to_tensor(weights)
        for what, value, ndims in (("Logits", logits, 3), ("Targets", targets, 2), ("Weights", weights, 2)):
            if value.shape.ndims not in (None, ndims):
                raise ValueError(f"{what} must be a {ndims}-dimensional tensor, not of shape {value.shape}")
        size = shape(logits)
        more_nodes(3)
        flat = reshape(logits, [-1, size[2] if logits.shape.ndims is None else _last(logits, size)])
        loss = _cross_entropy(reshape(targets, [-1]), flat, softmax_loss_function)
        loss = loss * reshape(weights, [-1])
        if average_across_timesteps and average_across_batch:
            return reduce_sum(loss) / (reduce_sum(weights) + 1e-12)
        if sum_over_timesteps and sum_over_batch:
            return DIV_NO_NAN(reduce_sum(loss), count_nonzero(weights, dtype=loss.dtype))
        loss = reshape(loss, size[:2])
        loss.set_shape(logits.shape[:2])
        if average_across_timesteps or average_across_batch:
            axis = 0 if average_across_batch else 1
            return reduce_sum(loss, axis) / (reduce_sum(weights, axis) + 1e-12)
        if sum_over_timesteps or sum_over_batch:
            axis = 0 if sum_over_batch else 1
            return DIV_NO_NAN(reduce_sum(loss, axis), count_nonzero(weights, axis, dtype=loss.dtype))
        return loss


def _last(logits: Tensor, size: Tensor) -> Any:
    known = logits.shape.tuple[2]
    return size[2] if known is None else known


@export("contrib.legacy_seq2seq.sequence_loss_by_example")
def sequence_loss_by_example(
    logits: list[Any],
    targets: list[Any],
    weights: list[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Weighted cross-entropy of each row, [batch], of a list over steps of logits [batch, classes].

    targets, weights: lists of [batch]; `softmax_loss_function(labels=, logits=)` gets targets as they are, of any
    shape. Raises ValueError for lists of different lengths (TF: tf.contrib.legacy_seq2seq.sequence_loss_by_example).
    """
    if not len(logits) == len(targets) == len(weights):
        raise ValueError(
            f"Lengths of logits, weights, and targets must be the same {len(logits)}, {len(weights)}, {len(targets)}."
        )
    with name_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        losses = [
            _cross_entropy(
                reshape(target, [-1]) if softmax_loss_function is None else target, logit, softmax_loss_function
            )
            * weight
            for logit, target, weight in zip(logits, targets, weights, strict=True)
        ]
        total = add_n(losses)
        return total / (add_n(weights) + 1e-12) if average_across_timesteps else total


@export("contrib.legacy_seq2seq.sequence_loss")
def legacy_sequence_loss(
    logits: list[Any],
    targets: list[Any],
    weights: list[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """The sum of `sequence_loss_by_example` over the batch, or its mean with `average_across_batch`; []."""
    with name_scope(name, "sequence_loss", [*logits, *targets, *weights]):
        losses = sequence_loss_by_example(logits, targets, weights, average_across_timesteps, softmax_loss_function)
        cost = reduce_sum(losses)
        if not average_across_batch:
            return cost
        return cost / cast(shape(convert_to_tensor(targets[0]))[0], cost.dtype)
