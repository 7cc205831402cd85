"""Shapes as layers of Keras got them as a package of its own: tuples of ints and None, and what layers say of theirs.

tf.keras gives `build` a TensorShape, whose sizes are Dimensions: `1.0 / input_shape[1]` is an error, and
`input_shape[1] is None` never true. In Keras the shape of a layer's output (`K.int_shape`, what the next layer is built
for) is what `compute_output_shape` says, or a Lambda's `output_shape`, and nothing checks it. Here it fills in what the
graph does not know, which stays as it is: known programs say what is wrong, and run. Facts from Keras 2.2
(`keras.engine.base_layer`).
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any

from penstock.graph.operation import Tensor
from penstock.keras import backend
from penstock.keras.engine.layer import Layer
from penstock.keras.layers.lambda_layer import Lambda
from penstock.keras.nested import flat, one_or_list
from penstock.layers import base
from penstock.tensor.shapes import TensorShape

_NAME = "compute_output_shape"
_SAID = "_said_shape"
"""An attribute of tensors: the TensorShape that a layer says of its output."""
_called: list[tuple[Any, list[TensorShape]]] = []
"""The layers that are being called, and the shapes of their inputs, the innermost last."""
_asked: list[Any] = []
"""The layer that is asked for the shape of its output, which may call a copy of it to find out."""


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
    """Layers of the program get shapes as tuples, those of Keras tell them so, and outputs have those that they say."""
    _give_tuples_to_build()
    for kind in (base.Layer, *_below(base.Layer)):
        _return_tuples(kind)
    base.Layer.__init_subclass__ = classmethod(_return_tuples)  # type: ignore[assignment]
    Layer.__call__ = Layer.apply = _saying(Layer.__call__)  # type: ignore[method-assign]
    backend.int_shape = int_shape


def _below(kind: type) -> list[type]:
    found: list[type] = kind.__subclasses__()
    return [each for direct in found for each in (direct, *_below(direct))]


def _give_tuples_to_build() -> None:
    build_once = Layer._build_once

    @functools.wraps(build_once)
    def build(self: Any, shapes: Any) -> None:
        layer, given = _called[-1] if _called else (None, [])
        if layer is self and isinstance(shapes, TensorShape | list):
            shapes = given if isinstance(shapes, list) and len(shapes) == len(given) else given[0]
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


def int_shape(x: Any) -> tuple[int | None, ...] | None:
    """`K.int_shape`: the sizes that the graph knows, or a layer says."""
    shape = _shape_of(x)
    return None if shape.ndims is None else tuple(shape.as_list())


def _shape_of(x: Any) -> TensorShape:
    known, said = TensorShape(x.shape), getattr(x, _SAID, None)
    if said is None or known.ndims is None or known.ndims != said.ndims:
        return known if said is None else said
    return TensorShape([said[i] if size is None else size for i, size in enumerate(known.as_list())])


def _saying(call: Any) -> Any:
    @functools.wraps(call)
    def called(self: Any, inputs: Any, *args: Any, **options: Any) -> Any:
        tensors = flat(inputs)
        if not tensors or not all(hasattr(x, "shape") for x in tensors):
            return call(self, inputs, *args, **options)
        _called.append((self, [_shape_of(x) for x in tensors]))
        try:
            outputs = call(self, inputs, *args, **options)
        finally:
            _, shapes = _called.pop()
        unknown = [x for x in flat(outputs) if isinstance(x, Tensor) and not _is_known(x)]
        if unknown and not _asked and (_says(self) or any(hasattr(x, _SAID) for x in tensors)):
            _say(self, shapes, flat(outputs))
        return outputs

    return called


def _is_known(output: Tensor) -> bool:
    """Whether the graph knows all sizes but that of the batch."""
    return output.shape.ndims is not None and None not in output.shape.as_list()[1:]


def _says(layer: Any) -> bool:
    """Whether the program says what shape the layer's output has."""
    if isinstance(layer, Lambda):
        return layer._output_shape is not None
    return _of_program(getattr(type(layer), _NAME))


def _say(layer: Any, shapes: list[TensorShape], outputs: list[Any]) -> None:
    _asked.append(layer)
    try:
        found = layer.compute_output_shape(one_or_list([as_sizes(shape) for shape in shapes]))
    except (AttributeError, LookupError, NotImplementedError, TypeError, ValueError):
        return  # the graph's are enough for this layer
    finally:
        _asked.clear()
    several = isinstance(found, list) and any(isinstance(shape, tuple | list | TensorShape) for shape in found)
    for output, shape in zip(outputs, found if several else [found], strict=False):
        if isinstance(output, Tensor):
            with contextlib.suppress(TypeError, ValueError):
                said = TensorShape(shape)
                setattr(output, _SAID, said)
                if output.shape.ndims is None and said.ndims is not None:
                    output.set_shape([None] * said.ndims)
