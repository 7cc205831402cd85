"""Pooling (TF: tf.layers.MaxPooling2D and similar layers)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.layers.base import spatial
from penstock.layers.windows import FORMATS, Windows
from penstock.ops.array import expand_dims, squeeze
from penstock.ops.nn.pooling_functions import avg_pool, avg_pool3d, max_pool, max_pool3d

_POOLS: dict[tuple[str, bool], Callable[..., Tensor]] = {
    ("MAX", False): max_pool,
    ("MAX", True): max_pool3d,
    ("AVG", False): avg_pool,
    ("AVG", True): avg_pool3d,
}


class _Pooling(Windows):
    """Windows of `pool_size` every `strides`, over `rank` spatial dims."""

    kind = "MAX"

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.pool_size = spatial(pool_size, self.rank, "pool_size")
        self.strides = spatial(strides, self.rank, "strides")
        self._set_windows(padding, data_format)

    def call(self, inputs: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        pool = _POOLS[self.kind, self.rank == 3]
        if self.rank > 1:
            return pool(inputs, self.pool_size, self.strides, self._op_padding, self._op_format)
        first = self._channels_at == 1
        axis = 2 if first else 1
        rows = expand_dims(inputs, axis)
        found = pool(rows, (1, *self.pool_size), (1, *self.strides), self._op_padding, FORMATS[2][first])
        return squeeze(found, [axis])


@export("layers.MaxPooling1D")
class MaxPooling1D(_Pooling):
    """The maximum of each window of [n, w, c] (TF: tf.layers.MaxPooling1D)."""

    rank = 1


@export("layers.MaxPooling2D")
class MaxPooling2D(_Pooling):
    """The maximum of each window of [n, h, w, c] (TF: tf.layers.MaxPooling2D)."""


@export("layers.MaxPooling3D")
class MaxPooling3D(_Pooling):
    """The maximum of each window of [n, d, h, w, c] (TF: tf.layers.MaxPooling3D)."""

    rank = 3


@export("layers.AveragePooling1D")
class AveragePooling1D(_Pooling):
    """The mean of each window of [n, w, c] (TF: tf.layers.AveragePooling1D)."""

    rank, kind = 1, "AVG"


@export("layers.AveragePooling2D")
class AveragePooling2D(_Pooling):
    """The mean of each window of [n, h, w, c] (TF: tf.layers.AveragePooling2D)."""

    kind = "AVG"


@export("layers.AveragePooling3D")
class AveragePooling3D(_Pooling):
    """The mean of each window of [n, d, h, w, c] (TF: tf.layers.AveragePooling3D)."""

    rank, kind = 3, "AVG"


def _function(layer: type[_Pooling], what: str) -> Any:
    def apply(
        inputs: Any,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
    ) -> Tensor:
        return layer(pool_size, strides, padding, data_format, name)(inputs)

    apply.__name__ = apply.__qualname__ = what
    apply.__doc__ = f"The layer {layer.__name__} applied to `inputs` (TF: tf.layers.{what})."
    return apply


max_pooling1d = export("layers.max_pooling1d")(_function(MaxPooling1D, "max_pooling1d"))
max_pooling2d = export("layers.max_pooling2d")(_function(MaxPooling2D, "max_pooling2d"))
max_pooling3d = export("layers.max_pooling3d")(_function(MaxPooling3D, "max_pooling3d"))
average_pooling1d = export("layers.average_pooling1d")(_function(AveragePooling1D, "average_pooling1d"))
average_pooling2d = export("layers.average_pooling2d")(_function(AveragePooling2D, "average_pooling2d"))
average_pooling3d = export("layers.average_pooling3d")(_function(AveragePooling3D, "average_pooling3d"))
