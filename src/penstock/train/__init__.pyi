# Written by `python -m penstock.api.generate`.
from penstock.checkpoint.files import checkpoint_exists as checkpoint_exists
from penstock.checkpoint.files import get_checkpoint_mtimes as get_checkpoint_mtimes
from penstock.checkpoint.state import CheckpointState as CheckpointState
from penstock.checkpoint.state import generate_checkpoint_state_proto as generate_checkpoint_state_proto
from penstock.checkpoint.state import get_checkpoint_state as get_checkpoint_state
from penstock.checkpoint.state import latest_checkpoint as latest_checkpoint
from penstock.checkpoint.state import update_checkpoint_state as update_checkpoint_state
from penstock.cluster.server import Server as Server
from penstock.cluster.spec import ClusterSpec as ClusterSpec
from penstock.cluster.spec import ServerDef as ServerDef
from penstock.summary.writer import FileWriter as SummaryWriter
from penstock.summary.writer import summary_iterator as summary_iterator
from penstock.tensor.example_protos import BytesList as BytesList
from penstock.tensor.example_protos import Example as Example
from penstock.tensor.example_protos import Feature as Feature
from penstock.tensor.example_protos import FeatureList as FeatureList
from penstock.tensor.example_protos import FeatureLists as FeatureLists
from penstock.tensor.example_protos import Features as Features
from penstock.tensor.example_protos import FloatList as FloatList
from penstock.tensor.example_protos import Int64List as Int64List
from penstock.tensor.example_protos import SequenceExample as SequenceExample
from penstock.train import experimental as experimental
from penstock.train import queue_runner as queue_runner
from penstock.train.adadelta import AdadeltaOptimizer as AdadeltaOptimizer
from penstock.train.adagrad import AdagradDAOptimizer as AdagradDAOptimizer
from penstock.train.adagrad import AdagradOptimizer as AdagradOptimizer
from penstock.train.adagrad import ProximalAdagradOptimizer as ProximalAdagradOptimizer
from penstock.train.adam import AdamOptimizer as AdamOptimizer
from penstock.train.checkpoint_manager import CheckpointManager as CheckpointManager
from penstock.train.checkpoint_utils import NewCheckpointReader as NewCheckpointReader
from penstock.train.checkpoint_utils import checkpoints_iterator as checkpoints_iterator
from penstock.train.checkpoint_utils import init_from_checkpoint as init_from_checkpoint
from penstock.train.checkpoint_utils import list_variables as list_variables
from penstock.train.checkpoint_utils import load_checkpoint as load_checkpoint
from penstock.train.checkpoint_utils import load_variable as load_variable
from penstock.train.coordinator import Coordinator as Coordinator
from penstock.train.coordinator import LooperThread as LooperThread
from penstock.train.device_setter import replica_device_setter as replica_device_setter
from penstock.train.ftrl import FtrlOptimizer as FtrlOptimizer
from penstock.train.global_step import assert_global_step as assert_global_step
from penstock.train.global_step import create_global_step as create_global_step
from penstock.train.global_step import get_global_step as get_global_step
from penstock.train.global_step import get_or_create_global_step as get_or_create_global_step
from penstock.train.global_step import global_step as global_step
from penstock.train.gradient_descent import GradientDescentOptimizer as GradientDescentOptimizer
from penstock.train.gradient_descent import ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer
from penstock.train.input.batching import batch as batch
from penstock.train.input.batching import batch_join as batch_join
from penstock.train.input.batching import maybe_batch as maybe_batch
from penstock.train.input.batching import maybe_batch_join as maybe_batch_join
from penstock.train.input.batching import maybe_shuffle_batch as maybe_shuffle_batch
from penstock.train.input.batching import maybe_shuffle_batch_join as maybe_shuffle_batch_join
from penstock.train.input.batching import shuffle_batch as shuffle_batch
from penstock.train.input.batching import shuffle_batch_join as shuffle_batch_join
from penstock.train.input.producers import input_producer as input_producer
from penstock.train.input.producers import limit_epochs as limit_epochs
from penstock.train.input.producers import match_filenames_once as match_filenames_once
from penstock.train.input.producers import range_input_producer as range_input_producer
from penstock.train.input.producers import slice_input_producer as slice_input_producer
from penstock.train.input.producers import string_input_producer as string_input_producer
from penstock.train.kept_checkpoints import remove_checkpoint as remove_checkpoint
from penstock.train.meta_graph import export_meta_graph as export_meta_graph
from penstock.train.meta_graph import write_graph as write_graph
from penstock.train.momentum import MomentumOptimizer as MomentumOptimizer
from penstock.train.moving_averages import ExponentialMovingAverage as ExponentialMovingAverage
from penstock.train.moving_averages import assign_moving_average as assign_moving_average
from penstock.train.moving_averages import weighted_moving_average as weighted_moving_average
from penstock.train.object_checkpoint import Checkpoint as Checkpoint
from penstock.train.optimizer import Optimizer as Optimizer
from penstock.train.queue_runner import QueueRunner as QueueRunner
from penstock.train.queue_runner import add_queue_runner as add_queue_runner
from penstock.train.queue_runner import start_queue_runners as start_queue_runners
from penstock.train.rmsprop import RMSPropOptimizer as RMSPropOptimizer
from penstock.train.saver import BaseSaverBuilder as BaseSaverBuilder
from penstock.train.saver import Saver as Saver
from penstock.train.saver import import_meta_graph as import_meta_graph
from penstock.train.schedules import cosine_decay as cosine_decay
from penstock.train.schedules import cosine_decay_restarts as cosine_decay_restarts
from penstock.train.schedules import exponential_decay as exponential_decay
from penstock.train.schedules import inverse_time_decay as inverse_time_decay
from penstock.train.schedules import linear_cosine_decay as linear_cosine_decay
from penstock.train.schedules import natural_exp_decay as natural_exp_decay
from penstock.train.schedules import piecewise_constant as piecewise_constant
from penstock.train.schedules import piecewise_constant as piecewise_constant_decay
from penstock.train.schedules import polynomial_decay as polynomial_decay
from penstock.train.session_run_hook import SessionRunArgs as SessionRunArgs
from penstock.train.session_run_hook import SessionRunContext as SessionRunContext
from penstock.train.session_run_hook import SessionRunHook as SessionRunHook
from penstock.train.session_run_hook import SessionRunValues as SessionRunValues
from penstock.train.sync_replicas import SyncReplicasOptimizer as SyncReplicasOptimizer
from penstock.train.sync_replicas import SyncReplicasOptimizer as SyncReplicasOptimizerV2
from penstock.train.warm_starting import VocabInfo as VocabInfo
from penstock.train.warm_starting import warm_start as warm_start
from penstock.training_loop.basic_loops import basic_train_loop as basic_train_loop
from penstock.training_loop.hooks import FeedFnHook as FeedFnHook
from penstock.training_loop.hooks import FinalOpsHook as FinalOpsHook
from penstock.training_loop.hooks import GlobalStepWaiterHook as GlobalStepWaiterHook
from penstock.training_loop.hooks import LoggingTensorHook as LoggingTensorHook
from penstock.training_loop.hooks import NanLossDuringTrainingError as NanLossDuringTrainingError
from penstock.training_loop.hooks import NanTensorHook as NanTensorHook
from penstock.training_loop.hooks import StepCounterHook as StepCounterHook
from penstock.training_loop.hooks import StopAtStepHook as StopAtStepHook
from penstock.training_loop.monitored_session import MonitoredSession as MonitoredSession
from penstock.training_loop.monitored_session import MonitoredTrainingSession as MonitoredTrainingSession
from penstock.training_loop.monitored_session import SingularMonitoredSession as SingularMonitoredSession
from penstock.training_loop.profiler_hook import ProfilerHook as ProfilerHook
from penstock.training_loop.progress_hook import ProgressHook as ProgressHook
from penstock.training_loop.random_state_hook import RandomStateHook as RandomStateHook
from penstock.training_loop.saving_hooks import CheckpointSaverHook as CheckpointSaverHook
from penstock.training_loop.saving_hooks import CheckpointSaverListener as CheckpointSaverListener
from penstock.training_loop.saving_hooks import SummarySaverHook as SummarySaverHook
from penstock.training_loop.scaffold import Scaffold as Scaffold
from penstock.training_loop.session_creators import ChiefSessionCreator as ChiefSessionCreator
from penstock.training_loop.session_creators import SessionCreator as SessionCreator
from penstock.training_loop.session_creators import WorkerSessionCreator as WorkerSessionCreator
from penstock.training_loop.session_manager import SessionManager as SessionManager
from penstock.training_loop.supervisor import Supervisor as Supervisor
from penstock.training_loop.timers import SecondOrStepTimer as SecondOrStepTimer
from tensorboard.compat.proto.cluster_pb2 import ClusterDef as ClusterDef
from tensorboard.compat.proto.cluster_pb2 import JobDef as JobDef
from tensorboard.compat.proto.saver_pb2 import SaverDef as SaverDef

__all__ = [
    "checkpoint_exists", "get_checkpoint_mtimes", "CheckpointState", "generate_checkpoint_state_proto",
    "get_checkpoint_state", "latest_checkpoint", "update_checkpoint_state", "Server", "ClusterSpec", "ServerDef",
    "SummaryWriter", "summary_iterator", "BytesList", "Example", "Feature", "FeatureList", "FeatureLists", "Features",
    "FloatList", "Int64List", "SequenceExample", "experimental", "queue_runner", "AdadeltaOptimizer",
    "AdagradDAOptimizer", "AdagradOptimizer", "ProximalAdagradOptimizer", "AdamOptimizer", "CheckpointManager",
    "NewCheckpointReader", "checkpoints_iterator", "init_from_checkpoint", "list_variables", "load_checkpoint",
    "load_variable", "Coordinator", "LooperThread", "replica_device_setter", "FtrlOptimizer", "assert_global_step",
    "create_global_step", "get_global_step", "get_or_create_global_step", "global_step", "GradientDescentOptimizer",
    "ProximalGradientDescentOptimizer", "batch", "batch_join", "maybe_batch", "maybe_batch_join", "maybe_shuffle_batch",
    "maybe_shuffle_batch_join", "shuffle_batch", "shuffle_batch_join", "input_producer", "limit_epochs",
    "match_filenames_once", "range_input_producer", "slice_input_producer", "string_input_producer",
    "remove_checkpoint", "export_meta_graph", "write_graph", "MomentumOptimizer", "ExponentialMovingAverage",
    "assign_moving_average", "weighted_moving_average", "Checkpoint", "Optimizer", "QueueRunner", "add_queue_runner",
    "start_queue_runners", "RMSPropOptimizer", "BaseSaverBuilder", "Saver", "import_meta_graph", "cosine_decay",
    "cosine_decay_restarts", "exponential_decay", "inverse_time_decay", "linear_cosine_decay", "natural_exp_decay",
    "piecewise_constant", "piecewise_constant_decay", "polynomial_decay", "SessionRunArgs", "SessionRunContext",
    "SessionRunHook", "SessionRunValues", "SyncReplicasOptimizer", "SyncReplicasOptimizerV2", "VocabInfo", "warm_start",
    "basic_train_loop", "FeedFnHook", "FinalOpsHook", "GlobalStepWaiterHook", "LoggingTensorHook",
    "NanLossDuringTrainingError", "NanTensorHook", "StepCounterHook", "StopAtStepHook", "MonitoredSession",
    "MonitoredTrainingSession", "SingularMonitoredSession", "ProfilerHook", "ProgressHook", "RandomStateHook",
    "CheckpointSaverHook", "CheckpointSaverListener", "SummarySaverHook", "Scaffold", "ChiefSessionCreator",
    "SessionCreator", "WorkerSessionCreator", "SessionManager", "Supervisor", "SecondOrStepTimer", "ClusterDef",
    "JobDef", "SaverDef"
]
