"""Pooling (TF: tf.contrib.layers.max_pool2d, avg_pool2d, …)."""

from __future__ import annotations

from typing import Any

from penstock.contrib.framework.arg_scopes import add_arg_scope
from penstock.contrib.layers.utils import collect_named_outputs, n_positive_integers
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.nn import pooling_functions as pools


def _pooling(what: str, kind: str, letters: str) -> Any:
    dims = len(letters) - 2
    formats = (letters, f"NC{letters[1:-1]}")
    function = getattr(pools, f"{kind}_pool" if dims == 2 else f"{kind}_pool3d")

    @add_arg_scope
    def pooled(
        inputs: Any,
        kernel_size: Any,
        stride: Any = 2,
        padding: str = "VALID",
        data_format: str = letters,
        outputs_collections: Any = None,
        scope: str | None = None,
    ) -> Tensor:
        if data_format not in formats:
            raise ValueError(f"data_format has to be one of {', '.join(formats)}, got {data_format!r}")
        with name_scope(scope, what, [inputs]) as opened:
            inputs = convert_to_tensor(inputs)
            sizes, steps = n_positive_integers(dims, kernel_size), n_positive_integers(dims, stride)
            outputs = function(inputs, sizes, steps, padding.upper(), data_format)
            return collect_named_outputs(outputs_collections, opened, outputs)

    pooled.__name__ = pooled.__qualname__ = f"{kind}_pool{dims}d"
    best = "mean" if kind == "avg" else "greatest"
    pooled.__doc__ = f"""The {best} of each window (TF: tf.contrib.layers.{kind}_pool{dims}d).

    inputs of the layout `data_format` ({" or ".join(formats)}). kernel_size, stride: one number or one for each dim.
    """
    return pooled


max_pool2d = export("contrib.layers.max_pool2d", "contrib.slim.max_pool2d")(_pooling("MaxPool2D", "max", "NHWC"))
avg_pool2d = export("contrib.layers.avg_pool2d", "contrib.slim.avg_pool2d")(_pooling("AvgPool2D", "avg", "NHWC"))
max_pool3d = export("contrib.layers.max_pool3d", "contrib.slim.max_pool3d")(_pooling("MaxPool3D", "max", "NDHWC"))
avg_pool3d = export("contrib.layers.avg_pool3d", "contrib.slim.avg_pool3d")(_pooling("AvgPool3D", "avg", "NDHWC"))


@export("contrib.layers.pool", "contrib.slim.pool")
@add_arg_scope
def pool(
    inputs: Any,
    kernel_size: Any,
    pooling_type: str,
    padding: str = "VALID",
    data_format: str | None = None,
    dilation_rate: Any = 1,
    stride: Any = 1,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Tensor:
    """The maximum ("MAX") or the mean ("AVG") of windows over 1 to 3 dims (TF: tf.contrib.layers.pool)."""
    with name_scope(scope, f"{pooling_type.lower()}_pool", [inputs]) as opened:
        inputs = convert_to_tensor(inputs)
        if inputs.shape.ndims is None or inputs.shape.ndims < 3:
            raise ValueError(f"Rank of inputs must be known and at least 3, got {inputs}")
        dims = inputs.shape.ndims - 2
        outputs = pools.pool(
            inputs, n_positive_integers(dims, kernel_size), pooling_type.upper(), padding.upper(),
            n_positive_integers(dims, dilation_rate), n_positive_integers(dims, stride), opened, data_format,
        )  # fmt: skip
        return collect_named_outputs(outputs_collections, opened, outputs)
