"""`@jit` of Numba as it was until 0.59: what cannot be compiled runs as Python, unless it says `nopython=True`.

Facts from Numba's notes on deprecation ("fall-back to object mode") and on 0.59. Until then such a function was
compiled in object mode, which computes what Python does.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from penstock.programs.report import REPORT


def patch(module: Any) -> None:
    """`numba.jit`, and `autojit`, its name until 0.47. `njit` and functions with `nopython=True` stay as they are."""
    if not hasattr(module, "core"):  # a file of the program's own
        return
    compiled, errors = module.jit, module.core.errors

    @functools.wraps(compiled)
    def jit(signature_or_function: Any = None, *args: Any, **options: Any) -> Any:
        if options.get("nopython") or options.get("forceobj") or options.get("_target"):
            return compiled(signature_or_function, *args, **options)
        options.pop("nopython", None)
        signature = None if callable(signature_or_function) else signature_or_function

        def decorated(function: Any) -> Any:
            try:
                return _falling_back(compiled(signature, *args, **options)(function))
            except errors.NumbaError:  # of the signature's types
                return _falling_back(compiled(*args, **options)(function))

        return decorated(signature_or_function) if _is_function(signature_or_function, module) else decorated

    module.jit = module.autojit = jit


def _is_function(value: Any, module: Any) -> bool:
    """Whether it is what `@jit` stands above, and no signature (`int32(int32)`), which cannot be called."""
    return callable(value) and not isinstance(value, module.types.Type)


def _falling_back(dispatcher: Any) -> Any:
    """The dispatcher, which runs the function as Python from the first arguments on that it cannot be compiled for."""
    compile_for = getattr(dispatcher, "_compile_for_args", None)
    if compile_for is None:  # NUMBA_DISABLE_JIT
        return dispatcher
    python: list[Callable[..., Any]] = []

    def compile_or_not(*args: Any, **options: Any) -> Any:
        if not python:
            try:
                return compile_for(*args, **options)
            except Exception:  # Numba gave up after any error of its own
                REPORT.use("@jit of what Numba cannot compile", sys._getframe(1))
                python.append(dispatcher.py_func)
        return python[0]

    dispatcher._compile_for_args = compile_or_not
    return dispatcher


PATCHES: dict[str, Callable[[Any], None]] = {"numba": patch}
