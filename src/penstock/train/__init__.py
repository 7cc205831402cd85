"""Training: optimizers, schedules, checkpoints (TF: tf.train)."""

from tensorboard.compat.proto.saver_pb2 import SaverDef

import penstock.ops.training_sign  # noqa: F401  # updates of optimizers that are not here
from penstock import absent as _absent
from penstock.checkpoint import (
    CheckpointState,
    checkpoint_exists,
    generate_checkpoint_state_proto,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    latest_checkpoint,
    update_checkpoint_state,
)
from penstock.summary.writer import FileWriter, summary_iterator
from penstock.tensor.example_protos import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)
from penstock.train import experimental
from penstock.train.adadelta import AdadeltaOptimizer
from penstock.train.adagrad import AdagradDAOptimizer, AdagradOptimizer, ProximalAdagradOptimizer
from penstock.train.adam import AdamOptimizer
from penstock.train.checkpoint_utils import (
    NewCheckpointReader,
    checkpoints_iterator,
    init_from_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
)
from penstock.train.ftrl import FtrlOptimizer
from penstock.train.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from penstock.train.gradient_descent import GradientDescentOptimizer, ProximalGradientDescentOptimizer
from penstock.train.kept_checkpoints import remove_checkpoint
from penstock.train.meta_graph import export_meta_graph, write_graph
from penstock.train.momentum import MomentumOptimizer
from penstock.train.moving_averages import ExponentialMovingAverage, assign_moving_average
from penstock.train.optimizer import Optimizer
from penstock.train.rmsprop import RMSPropOptimizer
from penstock.train.saver import BaseSaverBuilder, Saver, import_meta_graph
from penstock.train.schedules import (
    cosine_decay,
    cosine_decay_restarts,
    exponential_decay,
    inverse_time_decay,
    linear_cosine_decay,
    natural_exp_decay,
    piecewise_constant,
    polynomial_decay,
)

piecewise_constant_decay = piecewise_constant
SummaryWriter = FileWriter  # TF 0.x's name

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "BaseSaverBuilder",
    "BytesList",
    "CheckpointState",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "FtrlOptimizer",
    "GradientDescentOptimizer",
    "Int64List",
    "MomentumOptimizer",
    "NewCheckpointReader",
    "Optimizer",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "RMSPropOptimizer",
    "Saver",
    "SaverDef",
    "SequenceExample",
    "SummaryWriter",
    "assert_global_step",
    "assign_moving_average",
    "checkpoint_exists",
    "checkpoints_iterator",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "experimental",
    "exponential_decay",
    "export_meta_graph",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "import_meta_graph",
    "init_from_checkpoint",
    "inverse_time_decay",
    "latest_checkpoint",
    "linear_cosine_decay",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "natural_exp_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
    "remove_checkpoint",
    "summary_iterator",
    "update_checkpoint_state",
    "write_graph",
]

_absent.tell_in(__name__)
