"""Modules that are imported by another name: the same objects, not copies."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class Alias(Loader):
    """Loads a module that is already there: the same object, not a copy."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # importing by another name has replaced it


def spec_of(name: str, module: ModuleType) -> ModuleSpec:
    """By which `import name` gives the module."""
    return ModuleSpec(name, Alias(module), is_package=hasattr(module, "__path__"))


class SameModules(MetaPathFinder):
    """Modules inside a package are those inside another: `penstock.compat.v1.train` is `penstock.train`."""

    def __init__(self, package: str, source: str) -> None:
        self._package = package + "."
        self._source = source + "."

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(self._package):
            return None
        name = self._source + fullname.removeprefix(self._package)
        try:
            return spec_of(fullname, importlib.import_module(name))
        except ModuleNotFoundError as error:
            if error.name and (name + ".").startswith(error.name + "."):
                return None
            raise  # something that the module needs
