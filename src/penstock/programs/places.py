"""Which files are a program's own, and which are those of libraries."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from functools import cache
from pathlib import Path
from types import FrameType, TracebackType

_OWN = os.path.dirname(__file__) + os.sep
_PENSTOCK = str(Path(__file__).parents[1])


@cache
def _libraries() -> tuple[str, ...]:
    paths = {*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages(), _PENSTOCK}
    paths -= {sysconfig.get_path("data"), sysconfig.get_path("scripts")}
    paths.update(path for path in sys.path if path.endswith((".zip", "lib-dynload")))
    real = {os.path.realpath(path) for path in paths if path}
    return tuple(path + os.sep for path in sorted(paths | real) if path)


@cache
def is_of_program(file: str) -> bool:
    """Whether a file (or folder) belongs to a program: not to Python, to what is installed, or to Penstock."""
    if file.startswith("<frozen "):
        return False
    return not (os.path.abspath(file) + os.sep).startswith(_libraries())


def is_of_then(frame: FrameType) -> bool:
    """Whether code belongs to a program, or to a package for TensorFlow 1.x that is installed: one of which some loaded
    module has imported TensorFlow. Those of today that programs use, such as pandas, do not."""
    if is_of_program(frame.f_code.co_filename):
        return True
    package = str(frame.f_globals.get("__name__")).partition(".")[0]
    return package != "penstock" and _imports_tensorflow(package, len(sys.modules))


@cache
def _imports_tensorflow(package: str, loaded: int) -> bool:
    """Of the modules that are loaded; asked again when there are more of them."""
    tensorflow = sys.modules.get("tensorflow")
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == package]
    members = (getattr(module, "__dict__", {}) for module in modules if tensorflow is not None)
    return any(each.get("tf") is tensorflow or each.get("tensorflow") is tensorflow for each in members)


def calling() -> FrameType:
    """The frame that called the function of Penstock which asks, past others of them that wrap it."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    return frame


def shown(error: BaseException) -> BaseException:
    """The error, its tracebacks without the frames of what runs programs."""
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        each = todo.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            each.__traceback__ = _without_runner(each.__traceback__)
            todo += (each.__cause__, each.__context__)
    return error


def _without_runner(trace: TracebackType | None) -> TracebackType | None:
    if trace is None:
        return None
    rest = _without_runner(trace.tb_next)
    if trace.tb_frame.f_code.co_filename.startswith(_OWN):
        return rest
    trace.tb_next = rest
    return trace
