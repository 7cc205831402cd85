"""The part of tf.contrib that public programs use. Its modules are imported on first access."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from penstock import absent as _absent


def __getattr__(name: str) -> Any:
    if any(module.name == name for module in pkgutil.iter_modules(__path__)):
        return importlib.import_module(f"{__name__}.{name}")
    _absent.refuse(__name__, name)
