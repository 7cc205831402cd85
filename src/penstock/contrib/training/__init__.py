"""Hyperparameters and train ops (TF: tf.contrib.training)."""

from penstock.api.namespace import open_namespace
from penstock.api.old_paths import add_module
from penstock.contrib.training import hparams

add_module(f"{__name__}.python.training.hparam", hparams)

open_namespace(__name__)
