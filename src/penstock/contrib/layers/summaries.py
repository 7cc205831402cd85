"""Summaries of activations and of whole collections (TF: tf.contrib.layers.summarize_collection, …)."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from penstock import summary
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, get_collection
from penstock.ops.cast import cast
from penstock.ops.compare import greater, less
from penstock.ops.reduce import reduce_mean
from penstock.tensor.dtypes import bool as bool_dtype, float32, string


@export("contrib.layers.summarize_tensor", "contrib.slim.summarize_tensor")
def summarize_tensor(tensor: Any, tag: str | None = None) -> Tensor | None:
    """A scalar summary of a scalar, a histogram of other tensors; None for strings and bools."""
    if tensor.dtype.base_dtype in (string, bool_dtype):
        return None
    tag = tag or f"{tensor.op.name}_summary"
    return summary.scalar(tag, tensor) if tensor.shape.ndims == 0 else summary.histogram(tag, tensor)


@export("contrib.layers.summarize_activation", "contrib.slim.summarize_activation")
def summarize_activation(op: Tensor) -> Tensor:
    """A histogram of an activation; for ReLU and similar functions also the fraction of zeros."""
    if op.op.type in ("Relu", "Softplus", "Relu6"):
        _share(less(op.op.inputs[0], cast(0.0, op.op.inputs[0].dtype)), f"{op.op.name}/zeros")
    if op.op.type == "Relu6":
        _share(greater(op.op.inputs[0], cast(6.0, op.op.inputs[0].dtype)), f"{op.op.name}/sixes")
    return summary.histogram(f"{op.op.name}/activation", op)


def _share(which: Tensor, tag: str) -> None:
    summary.scalar(tag, reduce_mean(cast(which, float32)))


@export("contrib.layers.summarize_tensors", "contrib.slim.summarize_tensors")
def summarize_tensors(tensors: Any, summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    """The result of `summarizer` for each."""
    return [summarizer(tensor) for tensor in tensors]


@export("contrib.layers.summarize_collection", "contrib.slim.summarize_collection")
def summarize_collection(
    collection: Any, name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """Summaries of a collection; with `name_filter`, of those whose names match the regular expression."""
    found = [x for x in get_collection(collection) if name_filter is None or re.match(name_filter, x.op.name)]
    return summarize_tensors(found, summarizer)


summarize_variables = export("contrib.layers.summarize_variables", "contrib.slim.summarize_variables")(
    functools.partial(summarize_collection, GraphKeys.GLOBAL_VARIABLES)
)
summarize_weights = export("contrib.layers.summarize_weights", "contrib.slim.summarize_weights")(
    functools.partial(summarize_collection, GraphKeys.WEIGHTS)
)
summarize_biases = export("contrib.layers.summarize_biases", "contrib.slim.summarize_biases")(
    functools.partial(summarize_collection, GraphKeys.BIASES)
)


@export("contrib.layers.summarize_activations", "contrib.slim.summarize_activations")
def summarize_activations(
    name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_activation
) -> list[Any]:
    """Summaries of the collection ACTIVATIONS."""
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)
