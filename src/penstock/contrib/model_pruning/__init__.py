"""Weights that are masked where they are small, more and more of them while a model trains (TF:
tf.contrib.model_pruning)."""

from penstock.api.namespace import open_namespace
from penstock.api.old_paths import add_module
from penstock.contrib.model_pruning import cells, layers, learning, masks, pruning, stripping

for _name, _modules in {
    "pruning": (pruning, masks),
    "pruning_utils": (masks,),
    "learning": (learning,),
    "strip_pruning_vars_lib": (stripping,),
    "layers.core_layers": (layers, masks),
    "layers.layers": (layers,),
    "layers.rnn_cells": (cells,),
}.items():
    add_module(f"{__name__}.python.{_name}")
    for _module in _modules:
        vars(add_module(f"{__name__}.python.{_name}")).update(
            {key: value for key, value in vars(_module).items() if not key.startswith("__")}
        )

open_namespace(__name__)
