"""Keras of the time: that of today needs TensorFlow 2, and what TensorFlow 1.x had inside is the same library."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from penstock.programs import imported
from penstock.programs.removed.keras_arguments import give_arguments
from penstock.programs.removed.keras_names import add_names
from penstock.programs.report import REPORT

PACKAGE = "keras"
_PARTS = {"keras_applications": "applications", "keras_preprocessing": "preprocessing"}
"""Packages that Keras 2.2 was made of, and where they are in it; libraries of models import them."""


def install(*folders: Path) -> None:
    """`import keras` is tf.keras for the rest of the process, unless one of the program's folders has its own
    `keras`."""
    from penstock import as_tensorflow  # which takes the place of TensorFlow when it is imported

    if not imported.is_beside(PACKAGE, [*folders]):
        as_tensorflow.PACKAGES[PACKAGE] = "penstock.python.keras"
        for package, part in _PARTS.items():
            if not imported.is_beside(package, [*folders]) and importlib.util.find_spec(package) is None:
                as_tensorflow.PACKAGES[package] = f"penstock.python.keras.{part}"


def _told(module: ModuleType) -> None:
    from penstock import as_tensorflow

    if PACKAGE in as_tensorflow.PACKAGES:
        REPORT.note("keras is tf.keras")
        give_arguments(importlib.import_module("penstock.keras"))
        add_names(module.__name__)
        importlib.import_module("penstock.programs.removed.keras_tensors").give_attributes()
        importlib.import_module("penstock.programs.removed.keras_seeds").take_seeds()
        importlib.import_module("penstock.programs.removed.keras_optimizers").take_defaults()
        importlib.import_module("penstock.programs.removed.keras_masks").take_means()
        importlib.import_module("penstock.programs.removed.keras_averages").take_averages()
        importlib.import_module("penstock.programs.removed.keras_loops").take_loops()
        vars(module)["__name__"] = PACKAGE  # by which libraries know Keras from tf.keras


def _told_of_part(module: ModuleType) -> None:
    from penstock import as_tensorflow

    if module.__name__ in as_tensorflow.PACKAGES or module.__name__.startswith("penstock."):
        importlib.import_module(PACKAGE)


PATCHES: dict[str, Callable[[ModuleType], None]] = {PACKAGE: _told, **dict.fromkeys(_PARTS, _told_of_part)}
