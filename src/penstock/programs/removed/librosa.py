"""Arguments of librosa's functions by position, as until 0.10, and names that it had."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from penstock.programs.removed.by_position import taking
from penstock.programs.removed.giving import ModuleOf, Source, give


def _write_wav(path: Any, y: Any, sr: int, norm: bool = False) -> None:
    """A file of floats, as `librosa.output` wrote it."""
    import numpy as np
    from scipy.io import wavfile

    peak = np.abs(y).max() if norm else 0
    wavfile.write(path, sr, np.asarray(y / peak if peak else y).T)


NAMES: dict[str, Source] = {
    "logamplitude": "librosa:power_to_db",
    "output": "librosa.output:",
}
MODULES = {
    "librosa.output": ModuleOf(None, {"write_wav": lambda: _write_wav}),
}


def _patch(module: Any) -> None:
    """Functions, of which the modules have the names only, so far."""
    for name in getattr(module, "__all__", None) or dir(module):
        found = None if name.startswith("_") else getattr(module, name, None)
        if inspect.isfunction(found) and found.__module__.startswith("librosa"):
            setattr(module, name, taking(found, f"librosa.{name}"))


def patch(librosa: Any) -> None:
    for name in ("core", "feature", "effects", "filters", "util", "onset", "beat"):
        _patch(importlib.import_module(f"librosa.{name}"))
    for name in dir(importlib.import_module("librosa.core")):
        found = getattr(librosa.core, name)
        if inspect.isfunction(found) and hasattr(librosa, name):
            setattr(librosa, name, found)
    give(librosa, NAMES)
    give(librosa.feature, {"rmse": lambda: librosa.feature.rms})


PATCHES: dict[str, Callable[[Any], None]] = {"librosa": patch}
