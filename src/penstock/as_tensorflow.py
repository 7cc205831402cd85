"""Makes `import tensorflow` import Penstock, for unchanged programs and modules.

`python -m penstock program.py` runs a program this way; `import penstock.as_tensorflow` before the first `import
tensorflow` does the same inside a program. It affects the whole process.
"""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from penstock.api.alias import spec_of

PACKAGES = {
    "tensorflow": "penstock",
    "tensorflow_core": "penstock",
    "tensorflow_estimator": "penstock",
    "tensorflow_hub": "penstock.hub",
}
"""By a package's name: what is imported instead. TensorFlow 1.15 consists of the first three."""


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, dot, rest = fullname.partition(".")
        if package not in PACKAGES:
            return None
        name = PACKAGES[package] + dot + rest
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name and not (name + ".").startswith(error.name + "."):
                raise  # something that the module needs
            raise ModuleNotFoundError(
                f"Penstock has no module for {fullname}: it has TensorFlow's public names, and few of its inner "
                "modules. Take what is needed from there by its public name.",
                name=fullname,
            ) from None
        return spec_of(fullname, module)


def install() -> None:
    """What importing this module does, unless it is so already. Raises ImportError if TensorFlow itself is imported."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    if "tensorflow" in sys.modules and sys.modules["tensorflow"] is not sys.modules["penstock"]:
        raise ImportError("TensorFlow itself is already imported: import penstock.as_tensorflow before it.")
    sys.meta_path.insert(0, _Finder())
    penstock = logging.getLogger("penstock")
    logging.Logger.manager.loggerDict["tensorflow"] = penstock  # programs add handlers to it by name


install()
