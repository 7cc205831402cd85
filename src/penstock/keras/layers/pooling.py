"""Pooling (TF: tf.keras.layers.MaxPooling2D, GlobalAveragePooling2D, ...)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.keras.backend.settings import check_data_format
from penstock.keras.engine.layer import Layer
from penstock.layers import pooling
from penstock.ops.array import expand_dims
from penstock.ops.cast import cast
from penstock.ops.reduce import reduce_max, reduce_mean, reduce_sum


class _Keras:
    """The arguments of Keras' pools: by default strides are the size of the window."""

    rank = 2

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        data_format = check_data_format(data_format)
        super().__init__(  # type: ignore[call-arg]
            pool_size, pool_size if strides is None else strides, padding, data_format, **kwargs
        )


@export("keras.layers.MaxPooling1D", "keras.layers.MaxPool1D")
class MaxPooling1D(_Keras, pooling.MaxPooling1D, Layer):
    """The maximum of each window of [n, w, c]."""

    rank = 1


@export("keras.layers.MaxPooling2D", "keras.layers.MaxPool2D")
class MaxPooling2D(_Keras, pooling.MaxPooling2D, Layer):
    """The maximum of each window of [n, h, w, c]."""


@export("keras.layers.MaxPooling3D", "keras.layers.MaxPool3D")
class MaxPooling3D(_Keras, pooling.MaxPooling3D, Layer):
    """The maximum of each window of [n, d, h, w, c]."""

    rank = 3


@export("keras.layers.AveragePooling1D", "keras.layers.AvgPool1D")
class AveragePooling1D(_Keras, pooling.AveragePooling1D, Layer):
    """The mean of each window of [n, w, c]."""

    rank = 1


@export("keras.layers.AveragePooling2D", "keras.layers.AvgPool2D")
class AveragePooling2D(_Keras, pooling.AveragePooling2D, Layer):
    """The mean of each window of [n, h, w, c]."""


@export("keras.layers.AveragePooling3D", "keras.layers.AvgPool3D")
class AveragePooling3D(_Keras, pooling.AveragePooling3D, Layer):
    """The mean of each window of [n, d, h, w, c]."""

    rank = 3


class _Global(Layer):
    """One number for each channel."""

    rank = 2
    reduce: Any = staticmethod(reduce_max)

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = check_data_format(data_format)

    def call(self, inputs: Any) -> Any:
        first = 2 if self.data_format == "channels_first" else 1
        return self.reduce(inputs, list(range(first, first + self.rank)))


@export("keras.layers.GlobalMaxPooling1D", "keras.layers.GlobalMaxPool1D")
class GlobalMaxPooling1D(_Global):
    """The maximum over [n, w, c]'s middle axis."""

    rank = 1


@export("keras.layers.GlobalMaxPooling2D", "keras.layers.GlobalMaxPool2D")
class GlobalMaxPooling2D(_Global):
    """The maximum over images."""


@export("keras.layers.GlobalMaxPooling3D", "keras.layers.GlobalMaxPool3D")
class GlobalMaxPooling3D(_Global):
    """The maximum over volumes."""

    rank = 3


@export("keras.layers.GlobalAveragePooling1D", "keras.layers.GlobalAvgPool1D")
class GlobalAveragePooling1D(_Global):
    """The mean over [n, w, c]'s middle axis, of the steps that count."""

    rank, reduce = 1, staticmethod(reduce_mean)
    supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        if mask is None:
            return super().call(inputs)
        counted = expand_dims(cast(mask, inputs.dtype), 2)
        return reduce_sum(inputs * counted, 1) / reduce_sum(counted, 1)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None


@export("keras.layers.GlobalAveragePooling2D", "keras.layers.GlobalAvgPool2D")
class GlobalAveragePooling2D(_Global):
    """The mean over images."""

    reduce = staticmethod(reduce_mean)


@export("keras.layers.GlobalAveragePooling3D", "keras.layers.GlobalAvgPool3D")
class GlobalAveragePooling3D(_Global):
    """The mean over volumes."""

    rank, reduce = 3, staticmethod(reduce_mean)
