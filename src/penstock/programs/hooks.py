"""Modules as programs of their time expect them: patched when they are first imported, made where they are no more."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from penstock.programs import python2_modules, source
from penstock.programs.removed.giving import ModuleOf
from penstock.programs.report import REPORT

Patch = Callable[[ModuleType], None]

_PATCHED = "__penstock_patched__"  # in a module: whether it is


class _Patched(Loader):
    """Loads a module, and patches it then."""

    def __init__(self, loader: Any, patches: list[Patch]) -> None:
        self._loader = loader
        self._patches = patches

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader  # which may give resources as well
        vars(module).pop(_PATCHED, None)  # loaded again, it is not
        self._loader.exec_module(module)
        _apply(self._patches, module)


class PatchFinder(MetaPathFinder):
    """The first to be asked: for modules that are patched."""

    def __init__(self, patches: dict[str, list[Patch]]) -> None:
        self.patches = patches
        self._looking: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        found = self.patches.get(fullname)
        if found is None or fullname in self._looking:
            return None
        self._looking.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._looking.discard(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Patched(spec.loader, found)
        return spec


class StandIn(Loader):
    """Makes a module by a function."""

    def __init__(self, make: Callable[[], ModuleType]) -> None:
        self._make = make
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        made = self._make()
        self._spec = getattr(made, "__spec__", None)
        return made

    def exec_module(self, module: ModuleType) -> None:
        if self._spec is not None:  # a module that exists under another name keeps its own
            module.__spec__ = self._spec


class StandInFinder(MetaPathFinder):
    """The last to be asked: for modules that are no more, and for what packages of Python 2 have beside them."""

    def __init__(self, modules: dict[str, ModuleOf]) -> None:
        self.modules = modules

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        name = fullname.removeprefix(python2_modules.PREFIX)
        if name != fullname and name in python2_modules.MODULES:
            return ModuleSpec(fullname, StandIn(lambda: python2_modules.make(name)))
        gone = self.modules.get(fullname)
        if gone is not None:
            REPORT.use(fullname, None)
            return ModuleSpec(
                fullname,
                StandIn(lambda: gone.make(fullname)),
                is_package=any(each.startswith(fullname + ".") for each in self.modules),
            )
        beside = source.find_beside(fullname)
        return ModuleSpec(fullname, StandIn(lambda: importlib.import_module(beside))) if beside else None


def install(patches: Iterable[dict[str, Patch]], modules: dict[str, ModuleOf]) -> None:
    """For the rest of the process. Modules that are there already are patched at once."""
    wanted: dict[str, list[Patch]] = {}
    for table in patches:
        for name, patch in table.items():
            wanted.setdefault(name, []).append(patch)
    sys.meta_path.insert(0, PatchFinder(wanted))
    sys.meta_path.append(StandInFinder(modules))
    for name in wanted.keys() & sys.modules.keys():
        _apply(wanted[name], sys.modules[name])


def _apply(patches: list[Patch], module: ModuleType) -> None:
    """Once for a module, also where Penstock is imported a second time in this process."""
    if _PATCHED in vars(module):
        return
    setattr(module, _PATCHED, True)
    for patch in patches:
        patch(module)
