"""Layers that change the size of images: zeros around them, less of them, more of them (TF: tf.keras.layers)."""

from __future__ import annotations

import contextlib
from typing import Any

from penstock.export import export
from penstock.graph.scopes import counted_as
from penstock.keras import backend as K
from penstock.keras.backend.settings import check_data_format
from penstock.keras.engine.layer import Layer
from penstock.layers.base import spatial
from penstock.ops.padding import pad


def _sides(value: Any, rank: int, what: str) -> tuple[tuple[int, int], ...]:
    """How much before and after each spatial axis: one number for all, one for each axis, or pairs."""
    if isinstance(value, int):
        return ((value, value),) * rank
    if rank == 1 and len(value) == 2 and all(isinstance(v, int) for v in value):
        return ((value[0], value[1]),)
    if len(value) != rank:
        raise ValueError(f"`{what}` should have {rank} elements. Found: {value}")
    return tuple((v, v) if isinstance(v, int) else (v[0], v[1]) for v in value)


class _Spatial(Layer):
    rank = 2

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = check_data_format(data_format) if self.rank > 1 else "channels_last"

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        if self.rank == 1:  # Keras' have no argument for it
            config.pop("data_format", None)
        return config

    @property
    def first(self) -> int:
        """The first spatial axis."""
        return 2 if self.data_format == "channels_first" else 1


class _ZeroPadding(_Spatial):
    def __init__(self, padding: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.padding = _sides(padding, self.rank, "padding")

    def call(self, inputs: Any) -> Any:
        amounts = [[0, 0]] * (self.rank + 2)
        amounts[self.first : self.first + self.rank] = [list(sides) for sides in self.padding]
        return pad(inputs, amounts)


@export("keras.layers.ZeroPadding1D")
class ZeroPadding1D(_ZeroPadding):
    """Zeros before and after the middle axis of [n, w, c]."""

    rank = 1


@export("keras.layers.ZeroPadding2D")
class ZeroPadding2D(_ZeroPadding):
    """Zeros around images."""


@export("keras.layers.ZeroPadding3D")
class ZeroPadding3D(_ZeroPadding):
    """Zeros around volumes."""

    rank = 3


class _Cropping(_Spatial):
    def __init__(self, cropping: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.cropping = _sides(cropping, self.rank, "cropping")

    def call(self, inputs: Any) -> Any:
        cuts = [slice(None)] * (self.rank + 2)
        cuts[self.first : self.first + self.rank] = [slice(a, -b if b else None) for a, b in self.cropping]
        return inputs[tuple(cuts)]


@export("keras.layers.Cropping1D")
class Cropping1D(_Cropping):
    """Without the ends of the middle axis of [n, w, c]."""

    rank = 1


@export("keras.layers.Cropping2D")
class Cropping2D(_Cropping):
    """Images without their borders."""


@export("keras.layers.Cropping3D")
class Cropping3D(_Cropping):
    """Volumes without their borders."""

    rank = 3


class _UpSampling(_Spatial):
    def __init__(self, size: Any = 2, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.size = spatial(size, self.rank, "size")

    def call(self, inputs: Any) -> Any:
        with counted_as(5) if self.rank == 1 else contextlib.nullcontext():
            for axis, times in enumerate(self.size, self.first):
                inputs = K.repeat_elements(inputs, times, axis)
        return inputs


@export("keras.layers.UpSampling1D")
class UpSampling1D(_UpSampling):
    """Each step of [n, w, c] several times."""

    rank = 1


@export("keras.layers.UpSampling2D")
class UpSampling2D(_UpSampling):
    """Images enlarged by whole factors."""

    def __init__(
        self, size: Any = 2, data_format: str | None = None, interpolation: str = "nearest", **kwargs: Any
    ) -> None:
        super().__init__(size, data_format, **kwargs)
        self.interpolation = interpolation

    def call(self, inputs: Any) -> Any:
        with counted_as(8) if self.data_format == "channels_last" else contextlib.nullcontext():
            return K.resize_images(inputs, self.size[0], self.size[1], self.data_format, self.interpolation)


@export("keras.layers.UpSampling3D")
class UpSampling3D(_UpSampling):
    """Volumes enlarged by whole factors."""

    rank = 3
