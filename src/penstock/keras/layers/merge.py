"""Layers of several inputs (TF: tf.keras.layers.Add, Concatenate, ...), and functions that apply them."""

from __future__ import annotations

import functools
import operator
from typing import Any

from penstock import nn
from penstock.export import export
from penstock.keras import backend as K
from penstock.keras.engine.layer import Layer
from penstock.keras.nested import flat
from penstock.ops.arithmetic import maximum as maximum_op, minimum as minimum_op
from penstock.ops.array import expand_dims
from penstock.ops.compare import logical_and
from penstock.ops.filling import ones_like
from penstock.ops.reduce import reduce_all


class _Merge(Layer):
    """One tensor of a list of tensors, whose shapes are equal or broadcast."""

    supports_masking = True

    def build(self, input_shape: Any) -> None:
        if not isinstance(input_shape, list) or len(input_shape) < 2:
            raise ValueError(
                f"A merge layer should be called on a list of at least 2 inputs. Got {len(flat(input_shape))} inputs."
            )

    def merge(self, inputs: list[Any]) -> Any:
        """The result for tensors of the same rank."""
        raise NotImplementedError

    def call(self, inputs: Any) -> Any:
        ranks = [x.shape.ndims for x in inputs]
        if None not in ranks and len(set(ranks)) > 1:  # samples broadcast, too
            inputs = [self._widen(x, max(ranks)) for x in inputs]
        return self.merge(list(inputs))

    @staticmethod
    def _widen(x: Any, rank: int) -> Any:
        for _ in range(rank - x.shape.ndims):
            x = expand_dims(x, 1)
        return x

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        masks = [m for m in flat(mask) if m is not None]
        return None if not masks else functools.reduce(logical_and, masks)


@export("keras.layers.Add")
class Add(_Merge):
    """The sum."""

    def merge(self, inputs: list[Any]) -> Any:
        return functools.reduce(operator.add, inputs)


@export("keras.layers.Subtract")
class Subtract(_Merge):
    """The first less the second."""

    def merge(self, inputs: list[Any]) -> Any:
        if len(inputs) != 2:
            raise ValueError("A `Subtract` layer should be called on exactly 2 inputs")
        return inputs[0] - inputs[1]


@export("keras.layers.Multiply")
class Multiply(_Merge):
    """The product of elements."""

    def merge(self, inputs: list[Any]) -> Any:
        return functools.reduce(operator.mul, inputs)


@export("keras.layers.Average")
class Average(_Merge):
    """The mean."""

    def merge(self, inputs: list[Any]) -> Any:
        return functools.reduce(operator.add, inputs) / len(inputs)


@export("keras.layers.Maximum")
class Maximum(_Merge):
    """The greatest of elements."""

    def merge(self, inputs: list[Any]) -> Any:
        return functools.reduce(maximum_op, inputs)


@export("keras.layers.Minimum")
class Minimum(_Merge):
    """The least of elements."""

    def merge(self, inputs: list[Any]) -> Any:
        return functools.reduce(minimum_op, inputs)


@export("keras.layers.Concatenate")
class Concatenate(_Merge):
    """The tensors one after another along `axis`."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        return K.concatenate(inputs, self.axis)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        masks = flat(mask)
        if all(m is None for m in masks):
            return None
        wide = []
        for x, m in zip(inputs, masks, strict=True):
            counts = ones_like(x, dtype="bool")
            while m is not None and m.shape.ndims < x.shape.ndims:
                m = expand_dims(m, -1)
            wide.append(counts if m is None else logical_and(m, counts))
        return reduce_all(K.concatenate(wide, self.axis), -1)


@export("keras.layers.Dot")
class Dot(_Merge):
    """The products along one axis of each; `normalize` gives cosines."""

    def __init__(self, axes: Any, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axes, self.normalize = axes, normalize

    def call(self, inputs: Any) -> Any:
        x, y = inputs
        axes = [self.axes] * 2 if isinstance(self.axes, int) else list(self.axes)
        axes = [axis % tensor.shape.ndims for axis, tensor in zip(axes, (x, y), strict=True)]
        if self.normalize:
            x, y = nn.l2_normalize(x, axes[0]), nn.l2_normalize(y, axes[1])
        return K.batch_dot(x, y, axes)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None


@export("keras.layers.add")
def add(inputs: Any, **kwargs: Any) -> Any:
    """The layer `Add` applied to a list of tensors."""
    return Add(**kwargs)(inputs)


@export("keras.layers.subtract")
def subtract(inputs: Any, **kwargs: Any) -> Any:
    """The layer `Subtract` applied to two tensors."""
    return Subtract(**kwargs)(inputs)


@export("keras.layers.multiply")
def multiply(inputs: Any, **kwargs: Any) -> Any:
    """The layer `Multiply` applied to a list of tensors."""
    return Multiply(**kwargs)(inputs)


@export("keras.layers.average")
def average(inputs: Any, **kwargs: Any) -> Any:
    """The layer `Average` applied to a list of tensors."""
    return Average(**kwargs)(inputs)


@export("keras.layers.maximum")
def maximum(inputs: Any, **kwargs: Any) -> Any:
    """The layer `Maximum` applied to a list of tensors."""
    return Maximum(**kwargs)(inputs)


@export("keras.layers.minimum")
def minimum(inputs: Any, **kwargs: Any) -> Any:
    """The layer `Minimum` applied to a list of tensors."""
    return Minimum(**kwargs)(inputs)


@export("keras.layers.concatenate")
def concatenate(inputs: Any, axis: int = -1, **kwargs: Any) -> Any:
    """The layer `Concatenate` applied to a list of tensors."""
    return Concatenate(axis, **kwargs)(inputs)


@export("keras.layers.dot")
def dot(inputs: Any, axes: Any, normalize: bool = False, **kwargs: Any) -> Any:
    """The layer `Dot` applied to two tensors."""
    return Dot(axes, normalize, **kwargs)(inputs)
