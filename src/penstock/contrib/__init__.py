"""tf.contrib, in the part that public programs use. Its modules are imported when first asked for."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any


def __getattr__(name: str) -> Any:
    there = sorted(module.name for module in pkgutil.iter_modules(__path__))
    if name in there:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"penstock.contrib has no {name!r} (yet). There is: {', '.join(there)}.")
