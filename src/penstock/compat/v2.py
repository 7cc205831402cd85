"""tf.compat.v2: TensorFlow 1.15's names and arguments of TensorFlow 2, for graphs.

Libraries of that time (`import tensorflow.compat.v2 as tf`) build graphs with it in programs of TensorFlow 1: most of
its names are those of TensorFlow 1, and the rest take other arguments (`v2_arguments.py`). There is no eager execution.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from penstock.api.alias import spec_of
from penstock.client.resource_variable import ResourceVariable
from penstock.client.variable import Variable as AnyVariable
from penstock.compat.v2_arguments import INSTEAD, signature_of, with_arguments

_ELSEWHERE = {
    "compat": "penstock.compat",
    "constant_initializer": "penstock.keras.initializers.Constant",
    "initializers": "penstock.keras.initializers",
    "keras": "penstock.keras",
    "losses": "penstock.keras.losses",
    "metrics": "penstock.keras.metrics",
    "ones_initializer": "penstock.keras.initializers.Ones",
    "optimizers": "penstock.keras.optimizers",
    "random.set_seed": "penstock.set_random_seed",
    "random_normal_initializer": "penstock.keras.initializers.RandomNormal",
    "random_uniform_initializer": "penstock.keras.initializers.RandomUniform",
    "saved_model.load": "penstock.saved_model.load_v2",
    "zeros_initializer": "penstock.keras.initializers.Zeros",
}
"""Where TensorFlow 1's parts of these names are."""


class _OfVersion2(type):
    """Calls make resource variables; every variable is an instance."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) > len(_ARGUMENTS):
            raise TypeError(f"tf.compat.v2.Variable takes {len(_ARGUMENTS)} arguments by position, not {len(args)}")
        return ResourceVariable(**dict(zip(_ARGUMENTS, args, strict=False)), **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, AnyVariable)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, AnyVariable)


_ARGUMENTS = ("initial_value", "trainable", "validate_shape", "caching_device", "name")


class Variable(metaclass=_OfVersion2):
    """A variable by handle, whose argument after `trainable` is `validate_shape` (TF: tf.compat.v2.Variable)."""


class Version2(ModuleType):
    """A namespace of tf.compat.v2: the names of TensorFlow 1's, with the arguments of TensorFlow 2."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        path = f"{self.__name__.removeprefix(__name__)}.{name}".lstrip(".")
        value = _ELSEWHERE[path] if path in _ELSEWHERE else f"penstock.{INSTEAD.get(path, path)}"
        vars(self)[name] = found = _in_version_2(path, _named(value))
        return found

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *dir(_named(f"penstock{self.__name__.removeprefix(__name__)}"))})


def _named(path: str) -> Any:
    """What is called so: a namespace, or something in one."""
    parent, _, name = path.rpartition(".")
    return importlib.import_module(path) if not parent else getattr(_named(parent), name)


def _in_version_2(path: str, value: Any) -> Any:
    if isinstance(value, ModuleType):
        return value if path in _ELSEWHERE else _namespace(path)
    signature = signature_of(path)
    return value if signature is None else with_arguments(path, value, signature)


def _namespace(path: str) -> ModuleType:
    module = Version2(f"{__name__}.{path}")
    module.__path__ = []  # it may have submodules
    return sys.modules.setdefault(module.__name__, module)


class _Namespaces(MetaPathFinder):
    """`import tensorflow.compat.v2.feature_column` gives the namespace that is called so."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(__name__ + "."):
            return None
        found: Any = sys.modules[__name__]
        for name in fullname.removeprefix(__name__ + ".").split("."):
            found = getattr(found, name, None)
        return spec_of(fullname, found) if isinstance(found, ModuleType) else None


sys.modules[__name__].__class__ = Version2
__path__: list[str] = []  # it has modules, which `_Namespaces` finds
sys.meta_path.insert(0, _Namespaces())
