"""What Keras 1 had, and Keras 2 kept for its programs: `merge`, `Merge`, layers, names of layouts.

Facts from Keras 2.0 (`keras.legacy`) and Keras 1.2.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from penstock.graph.convert import convert_to_tensor
from penstock.keras import activations, backend as K, layers
from penstock.keras.engine.layer import Layer
from penstock.programs.removed.keras_arguments import FORMATS


def image_dim_ordering() -> str:
    """`image_data_format` in Keras 1's words: "tf" or "th"."""
    return "th" if K.image_data_format() == "channels_first" else "tf"


def set_image_dim_ordering(dim_ordering: str) -> None:
    """Set `image_data_format` in Keras 1's words."""
    name = FORMATS.get(dim_ordering)
    if name is None:
        raise ValueError(f"Unknown dim_ordering: {dim_ordering}")
    K.set_image_data_format(name)


def to_tensor(x: Any, dtype: Any) -> Any:
    """`x` as a tensor of that dtype."""
    return convert_to_tensor(x, dtype=dtype)


def relu6(x: Any) -> Any:
    """min(max(x, 0), 6), as models of MobileNet name it."""
    return K.relu(x, max_value=6)


def base_filter() -> str:
    """The characters that texts are split at and lose, in Keras 1."""
    return '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


def list_pictures(directory: str, ext: str = "jpg|jpeg|bmp|png|ppm") -> list[str]:
    """The paths of all files below a folder that end so."""
    paths = sorted(path for path in Path(directory).rglob("*") if re.search(rf"\w+\.(?:{ext})$", path.name))
    return [str(path) for path in paths]


def obtain_input_shape(
    input_shape: Any,
    default_size: int,
    min_size: int,
    data_format: str,
    require_flatten: bool = True,
    weights: Any = None,
    include_top: bool | None = None,
) -> tuple[Any, ...]:
    """The shape of a model's images: what is given, if it will do, or the default.

    Raises ValueError for images that are too small, or that the published weights are not for.
    """
    full = require_flatten if include_top is None else include_top
    first = data_format == "channels_first"
    if weights != "imagenet" and input_shape and len(input_shape) == 3:
        colours = input_shape[0 if first else -1]
        default = (colours, default_size, default_size) if first else (default_size, default_size, colours)
    else:
        default = (3, default_size, default_size) if first else (default_size, default_size, 3)
    if weights == "imagenet" and full:
        if input_shape is not None and tuple(input_shape) != default:
            raise ValueError(f"When setting `include_top=True`, `input_shape` should be {default}.")
        return default
    if input_shape:
        if len(input_shape) != 3:
            raise ValueError("`input_shape` must be a tuple of three integers.")
        sides = input_shape[1:] if first else input_shape[:2]
        if any(side is not None and side < min_size for side in sides):
            raise ValueError(f"Input size must be at least {min_size}x{min_size}; got `input_shape={input_shape}`")
        found = tuple(input_shape)
    else:
        found = default if full else (3, None, None) if first else (None, None, 3)
    if full and None in found:
        raise ValueError(f"If `include_top` is True, you should specify a static `input_shape`. Got {found}")
    return found


# --- layers ---------------------------------------------------------------------------------------------


class Merge(Layer):
    """Several tensors as one: `mode` is "sum", "mul", "concat", "ave", "max", "dot", "cos" or a function of the list.

    layers: the models or layers whose results these are, where it is the first layer of a Sequential.
    """

    def __init__(
        self, layers: Any = None, mode: Any = "sum", concat_axis: int = -1, dot_axes: Any = -1,
        output_shape: Any = None, output_mask: Any = None, arguments: Any = None, node_indices: Any = None,
        tensor_indices: Any = None, name: str | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name=name, **kwargs)
        self.merged = list(layers or [])
        self.mode, self.concat_axis, self.dot_axes = mode, concat_axis, dot_axes
        self.arguments = dict(arguments or {})

    def call(self, inputs: Any) -> Any:
        made = {"sum": layers.Add, "mul": layers.Multiply, "ave": layers.Average, "max": layers.Maximum}
        if callable(self.mode):
            return self.mode(inputs, **self.arguments)
        if self.mode in made:
            return made[self.mode]()(inputs)
        if self.mode == "concat":
            return layers.Concatenate(self.concat_axis)(inputs)
        if self.mode in ("dot", "cos"):
            axes = self.dot_axes if isinstance(self.dot_axes, int) else [_number(axis) for axis in self.dot_axes]
            return layers.Dot(axes, normalize=self.mode == "cos")(inputs)
        raise ValueError(f"Invalid merge mode: {self.mode!r}")

    @property
    def layers(self) -> list[Any]:
        """The models or layers whose results these are."""
        return self.merged

    def starting(self) -> tuple[list[Any], Any]:
        """The inputs of a Sequential that begins with it, and its result."""
        inputs = [x for model in self.merged for x in _listed(model.input)]
        return inputs, self([model.output for model in self.merged])


def _number(axis: Any) -> int:
    """Keras 1 also took axes in lists."""
    return int(axis[0] if isinstance(axis, list | tuple) else axis)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def merge(
    inputs: Any, mode: Any = "sum", concat_axis: int = -1, dot_axes: Any = -1, output_shape: Any = None,
    output_mask: Any = None, arguments: Any = None, name: str | None = None,
) -> Any:  # fmt: skip
    """`Merge` applied to a list of tensors."""
    return Merge(None, mode, concat_axis, dot_axes, output_shape, output_mask, arguments, name=name)(inputs)


def AtrousConvolution1D(nb_filter: int, filter_length: int, atrous_rate: Any = 1, **kwargs: Any) -> Any:
    """`Conv1D` with a dilation."""
    return layers.Conv1D(nb_filter, filter_length, dilation_rate=atrous_rate, **kwargs)


def AtrousConvolution2D(nb_filter: int, nb_row: int, nb_col: int, atrous_rate: Any = (1, 1), **kwargs: Any) -> Any:
    """`Conv2D` with a dilation."""
    return layers.Conv2D(nb_filter, (nb_row, nb_col), dilation_rate=atrous_rate, **kwargs)


def TimeDistributedDense(output_dim: int, **kwargs: Any) -> Any:
    """A `Dense` layer for each step."""
    shape = {key: kwargs.pop(key) for key in ("input_shape", "batch_input_shape") if key in kwargs}
    if "input_dim" in kwargs:
        shape["input_shape"] = (kwargs.pop("input_length", None), kwargs.pop("input_dim"))
    return layers.TimeDistributed(layers.Dense(output_dim, **kwargs), **shape)


class Highway(Layer):
    """t f(x W + b) + (1 - t) x, where t = sigmoid(x C + c)."""

    def __init__(
        self, init: Any = "glorot_uniform", activation: Any = None, W_regularizer: Any = None,
        b_regularizer: Any = None, W_constraint: Any = None, b_constraint: Any = None, bias: bool = True,
        input_dim: int | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        if input_dim is not None:
            kwargs["input_shape"] = (input_dim,)
        super().__init__(**kwargs)
        self.activation, self.bias, self.init = activations.get(activation), bias, init
        self.of_kernel = {"regularizer": W_regularizer, "constraint": W_constraint}
        self.of_bias = {"regularizer": b_regularizer, "constraint": b_constraint}

    def build(self, input_shape: Any) -> None:
        size = int(input_shape[-1])
        self.W = self.add_weight("W", (size, size), initializer=self.init, **self.of_kernel)
        self.W_carry = self.add_weight("W_carry", (size, size), initializer=self.init)
        if self.bias:
            self.b = self.add_weight("b", (size,), initializer="zeros", **self.of_bias)
            self.b_carry = self.add_weight("b_carry", (size,), initializer="ones")

    def call(self, x: Any) -> Any:
        carry, changed = K.dot(x, self.W_carry), K.dot(x, self.W)
        if self.bias:
            carry, changed = carry + self.b_carry, changed + self.b
        t = K.sigmoid(carry)
        return self.activation(changed) * t + (1 - t) * x


class MaxoutDense(Layer):
    """The greatest of `nb_feature` products x W + b, element by element."""

    def __init__(
        self, output_dim: int, nb_feature: int = 4, init: Any = "glorot_uniform", W_regularizer: Any = None,
        b_regularizer: Any = None, W_constraint: Any = None, b_constraint: Any = None, bias: bool = True,
        input_dim: int | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        if input_dim is not None:
            kwargs["input_shape"] = (input_dim,)
        super().__init__(**kwargs)
        self.output_dim, self.nb_feature, self.init, self.bias = output_dim, nb_feature, init, bias
        self.of_kernel = {"regularizer": W_regularizer, "constraint": W_constraint}
        self.of_bias = {"regularizer": b_regularizer, "constraint": b_constraint}

    def build(self, input_shape: Any) -> None:
        shape = (self.nb_feature, int(input_shape[-1]), self.output_dim)
        self.W = self.add_weight("W", shape, initializer=self.init, **self.of_kernel)
        if self.bias:
            self.b = self.add_weight("b", (self.nb_feature, self.output_dim), initializer="zeros", **self.of_bias)

    def call(self, x: Any) -> Any:
        products = K.dot(x, self.W)
        return K.max(products + self.b if self.bias else products, 1)


# --- decorators -----------------------------------------------------------------------------------------


def _unchanged(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def add_interfaces(module: ModuleType) -> None:
    """The decorators of `keras.legacy.interfaces`, through which Keras 2 took Keras 1's arguments.

    They leave what they decorate as it is: programs that have copied parts of Keras 2 call these by today's names.
    """

    def interface(name: str) -> Any:
        if name.startswith("legacy_"):
            return _unchanged
        raise AttributeError(f"module 'keras.legacy.interfaces' has no attribute {name!r}")

    vars(module)["__getattr__"] = interface
    vars(module)["generate_legacy_interface"] = lambda *args, **kwargs: _unchanged
