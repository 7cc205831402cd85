"""TF-Slim: layers, argument scopes, losses and a training loop under one name (TF: tf.contrib.slim)."""

from penstock.api.namespace import open_namespace
from penstock.api.old_paths import add_module
from penstock.contrib.slim import evaluation, learning, model_analyzer, summaries

for _module in (evaluation, learning, model_analyzer, summaries):
    add_module(f"{__name__}.python.slim.{_module.__name__.rpartition('.')[2]}", _module)

open_namespace(__name__)
