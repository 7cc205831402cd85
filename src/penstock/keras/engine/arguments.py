"""Arguments by name: those of layers' constructors, which describe layers, and those of their calls."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from penstock.client.initializers import Initializer
from penstock.keras.named import described, made
from penstock.layers import base


@cache
def signature_of(function: Any) -> inspect.Signature:
    return inspect.signature(function)


def parameters_of(function: Any) -> Mapping[str, inspect.Parameter]:
    return signature_of(function).parameters


def takes(function: Any, name: str) -> bool:
    """Whether a function has an argument of that name, or takes any; also where nothing tells."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return True
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def bound(cls: Any, layer: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments of the constructor by name, defaults included."""
    try:
        bound = signature_of(cls.__init__).bind(layer, *args, **kwargs)
    except TypeError:
        return {}  # the constructor is about to say what is wrong
    bound.apply_defaults()
    found: dict[str, Any] = {}
    for name, parameter in signature_of(cls.__init__).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            found |= bound.arguments[name]
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            found[name] = bound.arguments[name]
    return dict(list(found.items())[1:])


def arguments_of(cls: Any, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `call` other than its inputs and masks, by name."""
    names = [name for name in parameters_of(cls.call) if name not in ("self", "inputs")][: len(args)]
    named = dict(zip(names, args, strict=False)) | kwargs
    return {name: value for name, value in named.items() if name != "mask"}


def plain(value: Any) -> Any:
    """`value` as data for JSON, if it can be."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value))
    if isinstance(value, base.Layer | Initializer) or callable(value):
        return described(value) if hasattr(value, "get_config") or hasattr(value, "__name__") else value
    return value


_SIZES = frozenset({"kernel_size", "strides", "dilation_rate", "pool_size", "size", "padding", "cropping"})
_ACTIVATIONS = frozenset({"activation", "recurrent_activation"})


def resolved(layer: Any, key: str, value: Any) -> Any:
    """An argument of a layer as Keras describes it: with the sizes of all axes, initialisers by class, and the name of
    the activation that None is. Those who convert models read these."""
    if key in _SIZES and not isinstance(value, str):
        own = getattr(layer, key, value)
        return tuple(own) if isinstance(own, list | tuple) else value
    if key in _ACTIVATIONS and value is None:
        return "linear"
    if key.endswith("initializer") and isinstance(value, str | dict):
        return described(getattr(layer, key, None) or made("initializers", value))
    return value
