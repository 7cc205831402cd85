"""The values of images: conversion between dtypes, standardization (TF: tf.image)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import counted_as, name_scope
from penstock.ops.arithmetic import maximum, multiply
from penstock.ops.array import shape as shape_of, size as size_of
from penstock.ops.basic import identity
from penstock.ops.cast import cast, saturate_cast
from penstock.ops.reduce import reduce_mean, reduce_prod
from penstock.ops.unary import rsqrt, sqrt, square
from penstock.tensor.dtypes import as_dtype, float32, half


@export("image.convert_image_dtype")
def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: str | None = None) -> Tensor:
    """Images in another dtype, scaled: floats are in [0, 1], integers from 0 to the type's largest value.

    `saturate`: floats outside [0, 1] become the nearest value of the integer type instead of wrapping around.
    """
    image, dtype = convert_to_tensor(image, name="image"), as_dtype(dtype)
    if dtype == image.dtype:
        return identity(image, name=name)
    to = saturate_cast if saturate else cast
    with name_scope(name, "convert_image", [image]) as scope:
        have = image.dtype
        if have.is_integer and dtype.is_integer:
            largest, wanted = int(have.max), int(dtype.max)
            if largest > wanted:
                return cast(image // ((largest + 1) // (wanted + 1)), dtype, name=scope)
            widened = to(image, dtype)
            return multiply(widened, (wanted + 1) // (largest + 1), name=scope)
        if have.is_floating and dtype.is_floating:
            return cast(image, dtype, name=scope)
        if have.is_integer:
            return multiply(cast(image, dtype), 1.0 / float(have.max), name=scope)
        if have == half and float(dtype.max) > float(have.max):  # the scale exceeds the range of half
            image = cast(image, float32)
        return to(multiply(image, float(dtype.max) + 0.5), dtype, name=scope)  # rounds, because a cast truncates


@export("image.per_image_standardization", "image.per_image_whitening")
def per_image_standardization(image: Any) -> Tensor:
    """Images with mean 0 and standard deviation 1 each; the deviation counts as at least 1/√(number of values)."""
    with name_scope(None, "per_image_standardization", [image]) as scope:
        image = cast(convert_to_tensor(image, name="image"), float32)
        axes = [-3, -2, -1]
        with counted_as(23 if image.shape.is_fully_defined() else 45):  # as TensorFlow checks that nothing is empty
            mean = reduce_mean(image, axes, keepdims=True)
            number = cast(size_of(image) if image.shape.ndims == 3 else reduce_prod(shape_of(image)[-3:]), float32)
            variance = reduce_mean(square(image), axes, keepdims=True) - square(mean)
            deviation = maximum(sqrt(maximum(variance, 0.0)), rsqrt(number))
            return identity((image - mean) / deviation, name=scope)
