"""tf.contrib.keras: tf.keras by its older name."""

from __future__ import annotations

import importlib
import sys

from penstock.api.namespace import open_namespace

_MODULES = (
    "activations backend callbacks constraints datasets datasets.cifar10 datasets.cifar100 datasets.mnist initializers "
    "layers losses metrics models optimizers preprocessing preprocessing.image preprocessing.sequence "
    "preprocessing.text regularizers utils"
)

open_namespace(__name__)
for _module in _MODULES.split():  # so that they can be imported from here
    sys.modules[f"{__name__}.{_module}"] = importlib.import_module(f"penstock.keras.{_module}")
