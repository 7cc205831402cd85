"""Shapes as layers of Keras got them as a package of its own: tuples of ints and None.

tf.keras gives `build` a TensorShape, whose sizes are Dimensions: `1.0 / input_shape[1]` is an error, and
`input_shape[1] is None` never true. Facts from Keras 2.2 (`keras.engine.base_layer`).
"""

from __future__ import annotations

import functools
from typing import Any

from penstock.keras.engine.layer import Layer
from penstock.layers import base
from penstock.tensor.shapes import TensorShape

_NAME = "compute_output_shape"


class Size(int):
    """An int that layers made for tf.keras, in a program with both, can take for a Dimension."""

    @property
    def value(self) -> int:
        return int(self)


class Sizes(tuple[Any, ...]):
    """A tuple that has the methods of a TensorShape, for the same layers: `input_shape.as_list()`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(TensorShape(self), name)


def as_sizes(shape: Any) -> Any:
    """A TensorShape as a tuple, in lists and dicts too; anything else, and a shape of unknown rank, as it is."""
    if isinstance(shape, TensorShape):
        return Sizes(None if n is None else Size(n) for n in shape.as_list()) if shape.rank is not None else shape
    if isinstance(shape, dict):
        return {key: as_sizes(value) for key, value in shape.items()}
    if isinstance(shape, list):
        return [as_sizes(value) for value in shape]
    return shape


def _of_program(method: Any) -> bool:
    return not (getattr(method, "__module__", None) or "").startswith("penstock.")


def give_shapes() -> None:
    """Layers of the program get shapes as tuples, and those of Keras tell them so."""
    _give_tuples_to_build()
    for kind in (base.Layer, *_below(base.Layer)):
        _return_tuples(kind)
    base.Layer.__init_subclass__ = classmethod(_return_tuples)  # type: ignore[assignment]


def _below(kind: type) -> list[type]:
    found: list[type] = kind.__subclasses__()
    return [each for direct in found for each in (direct, *_below(direct))]


def _give_tuples_to_build() -> None:
    build_once = Layer._build_once

    @functools.wraps(build_once)
    def build(self: Any, shapes: Any) -> None:
        build_once(self, as_sizes(shapes) if _of_program(type(self).build) else shapes)

    Layer._build_once = build  # type: ignore[method-assign]


def _return_tuples(kind: type) -> None:
    """Programs count with what `compute_output_shape` of Keras's own layers returns."""
    own = vars(kind).get(_NAME)
    if own is None or _of_program(own):
        return

    @functools.wraps(own)
    def compute_output_shape(self: Any, *args: Any, **options: Any) -> Any:
        found = own(self, *args, **options)
        return as_sizes(found) if isinstance(self, Layer) else found  # tf.layers has some of the same

    setattr(kind, _NAME, compute_output_shape)
