"""Input functions of pandas' tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.estimator.inputs.batches import batches
from penstock.estimator.inputs.numpy_io import check_shuffle
from penstock.export import export


@export("estimator.inputs.pandas_input_fn")
def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> Callable[[], Any]:
    """An input function that gives batches of the rows of a DataFrame `x`, as a dict of its columns.

    y: a Series (labels are a tensor then) or a DataFrame (a dict), with the index of `x`. See `numpy_input_fn`. Raises
    ValueError if the indices differ. TF: tf.estimator.inputs.pandas_input_fn.
    """
    check_shuffle(shuffle)
    if not isinstance(target_column, str):
        raise TypeError("target_column must be a string type")
    if y is not None and not x.index.equals(y.index):
        raise ValueError(f"Index for x and y are mismatched.\nIndex for x: {x.index}\nIndex for y: {y.index}\n")
    several = y is not None and y.ndim > 1
    if y is not None and not several and target_column in x:
        raise ValueError(
            f"Cannot use name {target_column} for target column: DataFrame already has a column with that name: "
            f"{x.columns}"
        )

    def input_fn() -> Any:
        columns = {f"x/{name}": x[name].to_numpy() for name in x.columns}
        if several:
            columns |= {f"y/{name}": y[name].to_numpy() for name in y.columns}
        elif y is not None:
            columns["y"] = y.to_numpy()
        tensors = batches(columns, batch_size, bool(shuffle), num_epochs)
        features = {name: tensors[f"x/{name}"] for name in x.columns}
        if y is None:
            return features
        return features, {name: tensors[f"y/{name}"] for name in y.columns} if several else tensors["y"]

    return input_fn
