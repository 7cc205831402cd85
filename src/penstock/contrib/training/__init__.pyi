# Written by `python -m penstock.api.generate`.
from penstock.contrib.training.buckets import bucket as bucket
from penstock.contrib.training.buckets import bucket_by_sequence_length as bucket_by_sequence_length
from penstock.contrib.training.checkpoints import wait_for_new_checkpoint as wait_for_new_checkpoint
from penstock.contrib.training.hparams import HParams as HParams
from penstock.contrib.training.hparams import parse_values as parse_values
from penstock.contrib.training.train_ops import add_gradients_summaries as add_gradients_summaries
from penstock.contrib.training.train_ops import clip_gradient_norms as clip_gradient_norms
from penstock.contrib.training.train_ops import clip_gradient_norms_fn as clip_gradient_norms_fn
from penstock.contrib.training.train_ops import create_train_op as create_train_op
from penstock.contrib.training.train_ops import multiply_gradients as multiply_gradients
from penstock.contrib.training.training import train as train
from penstock.train.checkpoint_utils import checkpoints_iterator as checkpoints_iterator
from penstock.train.device_setter import GreedyLoadBalancingStrategy as GreedyLoadBalancingStrategy
from penstock.train.device_setter import RandomStrategy as RandomStrategy
from penstock.train.device_setter import byte_size_load_fn as byte_size_load_fn
from penstock.training_loop.evaluation import evaluate_once as evaluate_once
from penstock.training_loop.evaluation import evaluate_repeatedly as evaluate_repeatedly
from penstock.training_loop.evaluation import get_or_create_eval_step as get_or_create_eval_step
from penstock.training_loop.evaluation_hooks import StopAfterNEvalsHook as StopAfterNEvalsHook
from penstock.training_loop.evaluation_hooks import SummaryAtEndHook as SummaryAtEndHook

__all__ = [
    "bucket", "bucket_by_sequence_length", "wait_for_new_checkpoint", "HParams", "parse_values",
    "add_gradients_summaries", "clip_gradient_norms", "clip_gradient_norms_fn", "create_train_op", "multiply_gradients",
    "train", "checkpoints_iterator", "GreedyLoadBalancingStrategy", "RandomStrategy", "byte_size_load_fn",
    "evaluate_once", "evaluate_repeatedly", "get_or_create_eval_step", "StopAfterNEvalsHook", "SummaryAtEndHook"
]
