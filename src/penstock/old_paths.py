"""Modules under the longer names that TensorFlow also had them under: tf.contrib.layers.python.layers.utils, …"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


def add_module(path: str, *sources: Any, **members: Any) -> ModuleType:
    """A module that can be imported as `path`, with the public names of `sources` and with `members`.

    Its parents are made where they are not there. An attribute that the parent has already (a function called
    like the module, say) stays.
    """
    module = sys.modules.get(path)
    if module is None:
        module = ModuleType(path, "Names that are defined elsewhere, as TensorFlow had them here too.")
        module.__path__ = []  # it may have submodules
        sys.modules[path] = module
        parent, _, name = path.rpartition(".")
        holder = sys.modules.get(parent) or add_module(parent)
        if name not in vars(holder):
            setattr(holder, name, module)
    for source in sources:
        names = getattr(source, "__all__", None) or [name for name in vars(source) if not name.startswith("_")]
        vars(module).update({name: getattr(source, name) for name in names})
    vars(module).update(members)
    return module
