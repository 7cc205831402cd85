"""What libraries of models call of keras_applications 1.0: the modules of Keras, by arguments of a function.

Facts from keras_applications 1.0.8 and Keras 2.2.5.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

_MODULES = ("backend", "layers", "models", "utils")


def get_submodules_from_kwargs(kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """`keras.backend`, `layers`, `models` and `utils`, or what the arguments of these names are.

    Raises TypeError for arguments of other names.
    """
    for name in kwargs:
        if name not in _MODULES:
            raise TypeError(f"Invalid keyword argument: {name}")
    return tuple(kwargs.get(name) or keras_module(name) for name in _MODULES)


def keras_module(name: str) -> Any:
    """A module of Keras, with the names that it had as a package of its own."""
    return importlib.import_module(f"penstock.python.keras.{name}")


def keras_modules_injection(base_fun: Callable[..., Any]) -> Callable[..., Any]:
    """The function with Keras's modules as its arguments `backend`, `layers`, `models` and `utils`."""

    @functools.wraps(base_fun)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return base_fun(*args, **{**kwargs, **{name: keras_module(name) for name in _MODULES}})

    return wrapper


def set_keras_submodules(**modules: Any) -> None:
    """Nothing: they are Keras's."""
