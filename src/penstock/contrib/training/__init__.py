"""Hyperparameters and train ops (TF: tf.contrib.training)."""

from __future__ import annotations

from penstock import absent as _absent
from penstock.contrib.training import hparams
from penstock.contrib.training.checkpoints import (
    GreedyLoadBalancingStrategy as GreedyLoadBalancingStrategy,
    byte_size_load_fn as byte_size_load_fn,
    wait_for_new_checkpoint as wait_for_new_checkpoint,
)
from penstock.contrib.training.hparams import HParams as HParams, parse_values as parse_values
from penstock.contrib.training.train_ops import (
    add_gradients_summaries as add_gradients_summaries,
    clip_gradient_norms as clip_gradient_norms,
    clip_gradient_norms_fn as clip_gradient_norms_fn,
    create_train_op as create_train_op,
    multiply_gradients as multiply_gradients,
)
from penstock.old_paths import add_module
from penstock.train.checkpoint_utils import checkpoints_iterator as checkpoints_iterator

add_module(f"{__name__}.python.training.hparam", hparams)

_absent.tell_in(__name__)
