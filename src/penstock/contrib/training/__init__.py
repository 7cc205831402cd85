"""Hyperparameters and train ops (TF: tf.contrib.training)."""

from penstock.api.namespace import open_namespace
from penstock.contrib.training import hparams
from penstock.old_paths import add_module

add_module(f"{__name__}.python.training.hparam", hparams)

open_namespace(__name__)
