"""How many nodes more than here TensorFlow 1.15 makes for functions of losses and metrics.

The seeds of what is built later count them. The numbers are those of its graphs.
"""

from __future__ import annotations

from typing import Any

from penstock.client.default_names import snake_case

_MORE = {
    "mean_squared_error": -1, "mean_squared_logarithmic_error": -1, "binary_crossentropy": 6,
    "categorical_crossentropy": 2, "sparse_categorical_crossentropy": 6, "hinge": -1, "squared_hinge": -1, "logcosh": 1,
    "cosine_proximity": -1,
}  # fmt: skip
_OF_LOGITS = {
    ("binary_crossentropy", "Sigmoid"): 1,
    ("categorical_crossentropy", "Softmax"): 1,
    ("sparse_categorical_crossentropy", "Softmax"): 5,
}
"""Where the function takes the numbers that the output's activation got."""


def more_of_function(function: Any, output: Any) -> int:
    """The nodes that are not there for `function` of targets and `output`: 0 for one of a program."""
    if not getattr(function, "__module__", type(function).__module__).startswith("penstock."):
        return 0
    name = getattr(function, "__name__", None) or snake_case(type(function).__name__)
    return _OF_LOGITS.get((name, output.op.type), _MORE.get(name, 0))
