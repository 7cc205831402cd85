"""Hyperparameters, train ops and loops (TF: tf.contrib.training)."""

from penstock.api.namespace import open_namespace
from penstock.api.old_paths import add_module
from penstock.contrib.training import checkpoints, hparams, train_ops, training
from penstock.train.checkpoint_utils import checkpoints_iterator
from penstock.training_loop import evaluation, evaluation_hooks

_path = f"{__name__}.python.training"
add_module(f"{_path}.hparam", hparams)
add_module(f"{_path}.training", training, train_ops)
add_module(f"{_path}.evaluation", evaluation, evaluation_hooks, checkpoints, checkpoints_iterator=checkpoints_iterator)

open_namespace(__name__)
