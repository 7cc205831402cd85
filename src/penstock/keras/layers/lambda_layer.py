"""Functions of tensors as layers, and how files name them (TF: tf.keras.layers.Lambda)."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

from penstock.client.variable_creators import Creator, variable_creator_scope
from penstock.export import export
from penstock.keras.engine.arguments import parameters_of, plain
from penstock.keras.engine.layer import Layer
from penstock.keras.named import get_custom_objects
from penstock.keras.nested import flat
from penstock.tensor.shapes import TensorShape

_given: dict[tuple[str, str], list[Any]] = {}
"""The functions that this process has made Lambda layers of, by the layer's name and their own."""


class _Named(str):
    """A function's name in a description that has not left the process: it still knows the function."""

    function: Any = None


@export("keras.layers.Lambda")
class Lambda(Layer):
    """A function of tensors as a layer, with the variables that it makes: later calls take the same ones.

    Files hold the function's name only: where the program has not made such a layer itself, as before it saves the
    model, the function is looked for in custom_objects, {name: function}, and in the program's main module. A function
    without a name is known by that of the layer. `output_shape`: the sizes of a sample of the result, or a function of
    the inputs' shape that gives the whole shape; it is only asked for by `compute_output_shape`.
    """

    def __init__(
        self, function: Any, output_shape: Any = None, mask: Any = None, arguments: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.function, self._output_shape, self.mask = function, output_shape, mask
        self.arguments = dict(arguments or {})
        self.supports_masking = mask is not None
        self._variables: dict[str, Any] = {}
        _given.setdefault((self.name, _name_of(function)), []).append(function)

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        takes = parameters_of(self.function) if callable(self.function) else {}
        extra = {"mask": mask, "training": training}
        with variable_creator_scope(self._variable):
            return self.function(
                inputs, **self.arguments, **{k: v for k, v in extra.items() if k in takes and k not in self.arguments}
            )

    def _variable(self, next_creator: Creator, **kwargs: Any) -> Any:
        name = kwargs.get("name") or "Variable"
        if name not in self._variables:
            self._variables[name] = variable = next_creator(**kwargs)
            trainable = kwargs.get("trainable") is not False
            (self._trainable_weights if trainable else self._non_trainable_weights).append(variable)
        return self._variables[name]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def compute_output_shape(self, input_shape: Any) -> Any:
        """That of the argument `output_shape`, or else of the function's result."""
        if self._output_shape is None:
            return super().compute_output_shape(input_shape)
        if callable(self._output_shape):
            return self._output_shape(input_shape)
        first = input_shape if _is_shape(input_shape) else flat(input_shape)[0]
        batch = TensorShape(first).as_list()[:1]
        if _is_shape(self._output_shape):
            return TensorShape([*batch, *TensorShape(self._output_shape).as_list()])
        return [TensorShape([*batch, *TensorShape(shape).as_list()]) for shape in self._output_shape]

    def get_config(self) -> dict[str, Any]:
        known = _name_of(self.function)
        name = _Named(self.name if known == "<lambda>" else known)  # in files, functions without names need one
        name.function = self.function
        config = {"name": self.name, "trainable": self.trainable, "function": name, "function_type": "function"}
        if hasattr(self, "_batch_input_shape"):
            config["batch_input_shape"] = self._batch_input_shape
        if self._dtype is not None:
            config["dtype"] = self._dtype.name
        config["module"] = getattr(self.function, "__module__", None)
        config |= {"output_shape": _kept(self._output_shape), "output_shape_type": "raw", "output_shape_module": None}
        if self.mask is not None:
            config["mask"] = _kept(self.mask)
        return {**config, "arguments": self.arguments}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        config = dict(config)
        function = config.pop("function")
        kind = config.pop("function_type", "function")
        known = {**get_custom_objects(), **(custom_objects or {})}
        name = function if isinstance(function, str) and kind == "function" else config.get("name")
        found = known.get(name)
        if found is None and isinstance(function, str) and kind == "function":
            found = getattr(function, "function", None) or _of_the_program(config.get("name", ""), function)
        if found is None:
            raise ValueError(
                f"The Lambda layer {config.get('name')!r} calls a function that the file does not hold (code in files "
                f"is never run): pass custom_objects={{{name!r}: the function}}."
            )
        if config.pop("output_shape_type", "raw") != "raw":
            config.pop("output_shape", None)  # a function in a file, too
        for key in ("output_shape", "mask"):
            if isinstance(config.get(key), str | bytes):
                config[key] = getattr(config[key], "function", None)
        if isinstance(config.get("mask"), list):
            config.pop("mask")  # code
        for key in ("module", "output_shape_module", "mask_type", "mask_module"):
            config.pop(key, None)
        return cls(found, **config)


def _kept(value: Any) -> Any:
    """A function by its name, as `_Named`; anything else as plain data."""
    if not callable(value):
        return plain(value)
    name = _Named(_name_of(value))
    name.function = value
    return name


def _name_of(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _is_shape(value: Any) -> bool:
    """Whether it is the shape of one tensor, not a list of shapes."""
    return isinstance(value, TensorShape) or all(size is None or hasattr(size, "__index__") for size in value)


def _of_the_program(layer: str, name: str) -> Any:
    """The function that a Lambda layer of that name was made of in this process, or else that of the main module.

    None if there is none, or if there were several with different code.
    """
    made = _given.get((layer, name)) or (_given.get((layer, "<lambda>")) if name == layer else None)
    if made:
        codes = {getattr(function, "__code__", function) for function in made}
        return made[-1] if len(codes) == 1 else None
    function = vars(sys.modules["__main__"]).get(name)
    return function if isinstance(function, FunctionType) and function.__module__ == "__main__" else None
