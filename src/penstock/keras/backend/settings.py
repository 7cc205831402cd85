"""Keras' global settings: the dtype of floats, epsilon, the layout of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.export import export

_floatx = "float32"
_epsilon = 1e-7
_image_data_format = "channels_last"


@export("keras.backend.floatx")
def floatx() -> str:
    """The dtype of weights and inputs unless they say otherwise."""
    return _floatx


@export("keras.backend.set_floatx")
def set_floatx(value: str) -> None:
    """Set `floatx`: "float16", "float32" or "float64"."""
    global _floatx
    if value not in ("float16", "float32", "float64"):
        raise ValueError(f"Unknown floatx type: {value}")
    _floatx = value


@export("keras.backend.epsilon")
def epsilon() -> float:
    """The small number that keeps logarithms and divisions finite."""
    return _epsilon


@export("keras.backend.set_epsilon")
def set_epsilon(value: float) -> None:
    """Set `epsilon`."""
    global _epsilon
    _epsilon = float(value)


@export("keras.backend.image_data_format")
def image_data_format() -> str:
    """The default of layers' `data_format`."""
    return _image_data_format


@export("keras.backend.set_image_data_format")
def set_image_data_format(data_format: str) -> None:
    """Set `image_data_format`: "channels_last" or "channels_first"."""
    global _image_data_format
    _image_data_format = check_data_format(data_format)


@export("keras.backend.cast_to_floatx")
def cast_to_floatx(x: Any) -> np.ndarray:
    """An array of the dtype `floatx`."""
    return np.asarray(x, dtype=_floatx)


@export("keras.backend.backend")
def backend() -> str:
    """The name that Keras' files and programs know this backend by."""
    return "tensorflow"


def check_data_format(data_format: str | None) -> str:
    """`data_format`, or the default for None."""
    chosen = _image_data_format if data_format is None else data_format.lower()
    if chosen not in ("channels_last", "channels_first"):
        raise ValueError(f"Unknown data_format: {data_format}")
    return chosen
