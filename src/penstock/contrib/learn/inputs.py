"""Arrays as the input of tf.contrib.learn's Estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from penstock.contrib.layers.feature_columns import UNNAMED
from penstock.estimator.inputs.batches import batches
from penstock.estimator.inputs.numpy_io import numpy_input_fn as core_numpy_input_fn
from penstock.export import export
from penstock.feature_column.numeric import numeric_column
from penstock.graph.graph import Graph
from penstock.graph.operation import Tensor


def input_fn_of(
    x: Any, y: Any, input_fn: Callable[..., Any] | None, batch_size: int | None, training: bool
) -> Callable[..., Any]:
    """An input function of arrays, or of dicts of arrays: shuffled and endless for training, otherwise once.

    batch_size: by default all rows. Raises ValueError unless either `input_fn` or `x` is given.
    """
    if input_fn is not None:
        if x is not None or y is not None or batch_size is not None:
            raise ValueError("Can not provide both input_fn and x, y or batch_size.")
        return input_fn
    if x is None:
        raise ValueError("Either x or input_fn must be provided.")
    given = {"x": _arrays(x)} if y is None else {"x": _arrays(x), "y": _arrays(y)}
    rows = {len(array) for arrays in given.values() for array in arrays.values()}
    if len(rows) > 1:
        raise ValueError(f"x and y have different numbers of rows: {sorted(rows)}")
    size = min(batch_size or rows.copy().pop(), rows.pop())
    flat = {f"{part}/{name}": array for part, arrays in given.items() for name, array in arrays.items()}

    def from_arrays() -> Any:
        tensors = batches(flat, size, training, None if training else 1)
        named = {part: {name: tensors[f"{part}/{name}"] for name in arrays} for part, arrays in given.items()}
        parts = [named[part] if isinstance(value, Mapping) else named[part][""] for part, value in _given(x, y)]
        return tuple(parts) if len(parts) > 1 else parts[0]

    return from_arrays


def _given(x: Any, y: Any) -> list[tuple[str, Any]]:
    return [("x", x)] if y is None else [("x", x), ("y", y)]


def _arrays(values: Any) -> dict[str, np.ndarray]:
    """Arrays by name; one without a name is "". Double precision becomes single."""
    named = dict(values) if isinstance(values, Mapping) else {"": values}
    found = {name: np.asarray(value) for name, value in named.items()}
    return {name: array.astype(np.float32) if array.dtype == np.float64 else array for name, array in found.items()}


def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool = True,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Callable[[], Any]:
    """`tf.estimator.inputs.numpy_input_fn`, which shuffles by default."""
    return core_numpy_input_fn(x, y, batch_size, num_epochs, shuffle, queue_capacity, num_threads)


@export("contrib.learn.infer_real_valued_columns_from_input_fn")
def infer_real_valued_columns_from_input_fn(input_fn: Callable[[], Any]) -> list[Any]:
    """A numeric feature column for each feature that an input function returns. ValueError for one of text."""
    with Graph().as_default():
        found = input_fn()
        features = found[0] if isinstance(found, tuple | list) else found
    named = features if isinstance(features, Mapping) else {UNNAMED: features}
    return [_column(name, tensor) for name, tensor in sorted(named.items())]


@export("contrib.learn.infer_real_valued_columns_from_input")
def infer_real_valued_columns_from_input(x: Any) -> list[Any]:
    """A numeric feature column for an array, or for each one of a dict."""
    return infer_real_valued_columns_from_input_fn(input_fn_of(x, None, None, None, training=False))


def _column(name: str, tensor: Any) -> Any:
    if not isinstance(tensor, Tensor) or not (tensor.dtype.is_floating or tensor.dtype.is_integer):
        raise ValueError(f"Feature {name!r} is not a tensor of numbers: {tensor}")
    return numeric_column(name, tuple(tensor.shape.as_list()[1:]) or (1,), dtype=tensor.dtype)
