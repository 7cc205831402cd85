"""Input functions of NumPy's arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from penstock.estimator.inputs.batches import batches
from penstock.export import export


@export("estimator.inputs.numpy_input_fn")
def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Callable[[], Any]:
    """An input function that gives batches of the rows of `x` and `y`: arrays, or dicts of arrays.

    It returns `(features, labels)`, or only features without `y`, of the same types. num_epochs: how often it goes
    through the rows; None for ever. shuffle: must be given. `queue_capacity` and `num_threads` have no effect. Raises
    ValueError if the arrays have different numbers of rows. TF: tf.estimator.inputs.numpy_input_fn.
    """
    check_shuffle(shuffle)

    def input_fn() -> Any:
        features, labels = _arrays(x, "x"), {} if y is None else _arrays(y, "y")
        if len({len(array) for array in (*features.values(), *labels.values())}) > 1:
            shapes = [{name: array.shape for name, array in given.items()} for given in (features, labels)]
            raise ValueError(
                "Length of tensors in x and y is mismatched. All elements in x and y must have the same length.\n"
                f"Shapes in x: {shapes[0]}\nShapes for y: {shapes[1]}\n"
            )
        named = {f"x/{name}": array for name, array in features.items()}
        named |= {f"y/{name}": array for name, array in labels.items()}
        tensors = batches(named, batch_size, bool(shuffle), num_epochs)
        taken = {name: tensors[f"x/{name}"] for name in features} if isinstance(x, Mapping) else tensors["x/"]
        if y is None:
            return taken
        return taken, {name: tensors[f"y/{name}"] for name in labels} if isinstance(y, Mapping) else tensors["y/"]

    return input_fn


def check_shuffle(shuffle: Any) -> None:
    if not isinstance(shuffle, bool):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it as True for training);"
            f" got {shuffle}"
        )


def _arrays(given: Any, what: str) -> dict[str, Any]:
    """The arrays by name; a single one is called ""."""
    if isinstance(given, Mapping):
        if not given:
            raise ValueError(
                "x cannot be an empty dict" if what == "x" else "y cannot be empty dict, use None instead."
            )
        return {name: np.asarray(given[name]) for name in sorted(given)}
    if what == "x" and not isinstance(given, np.ndarray):
        raise TypeError(f"x must be a dict or array; got {type(given).__name__}")
    return {"": np.asarray(given)}
