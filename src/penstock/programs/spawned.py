"""Processes of multiprocessing that do not begin as copies of the program's ("spawn", "forkserver"): they import and
run its text as it does itself.

What such a process first reads is a dict of settings. One more is put into it here, and to unpickle it prepares the
process, before the program's text is run there as the module `__mp_main__`.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from penstock.programs import children, source

Prepare = Callable[[list[str], bool], None]
"""Called in the other process, with the options of `penstock run` and whether the program is Python 2; of a module."""


class _Preparation:
    def __init__(self, prepare: Prepare) -> None:
        self._prepare = prepare

    def __reduce__(self) -> tuple[Prepare, tuple[list[str], bool]]:
        return self._prepare, (children.OPTIONS, source.ProgramLoader.python2)


def patch(prepare: Prepare, spawn: Any) -> None:
    """Patch `multiprocessing.spawn`, in the program's process and in those that it starts."""
    prepared, from_path = spawn.get_preparation_data, spawn._fixup_main_from_path

    @functools.wraps(prepared)
    def get_preparation_data(name: str) -> dict[str, Any]:
        data = prepared(name)
        return {"penstock": _Preparation(prepare), **data} if children.running() else data

    @functools.wraps(from_path)
    def _fixup_main_from_path(main_path: str) -> None:
        here = sys.modules["__main__"]
        if not children.running() or getattr(here, "__file__", None) == main_path:
            from_path(main_path)
            return
        spawn.old_main_modules.append(here)
        sys.modules["__main__"] = sys.modules["__mp_main__"] = _run(main_path)

    spawn.get_preparation_data, spawn._fixup_main_from_path = get_preparation_data, _fixup_main_from_path


def _run(path: str) -> ModuleType:
    code = source.translate(source.read(path), path)
    module = ModuleType("__mp_main__")
    vars(module).update(__builtins__=builtins, __file__=path, __cached__=None)
    code.prepare(vars(module))
    exec(code.code, vars(module))
    return module
