# Written by `python -m penstock.api.generate`.
from penstock.estimator import experimental as experimental
from penstock.estimator import export as export
from penstock.estimator import inputs as inputs
from penstock.estimator import tpu as tpu
from penstock.estimator.canned.baseline import BaselineClassifier as BaselineClassifier
from penstock.estimator.canned.baseline import BaselineEstimator as BaselineEstimator
from penstock.estimator.canned.baseline import BaselineRegressor as BaselineRegressor
from penstock.estimator.canned.boosted_trees import BoostedTreesClassifier as BoostedTreesClassifier
from penstock.estimator.canned.boosted_trees import BoostedTreesEstimator as BoostedTreesEstimator
from penstock.estimator.canned.boosted_trees import BoostedTreesRegressor as BoostedTreesRegressor
from penstock.estimator.canned.combined import DNNLinearCombinedClassifier as DNNLinearCombinedClassifier
from penstock.estimator.canned.combined import DNNLinearCombinedEstimator as DNNLinearCombinedEstimator
from penstock.estimator.canned.combined import DNNLinearCombinedRegressor as DNNLinearCombinedRegressor
from penstock.estimator.canned.dnn import DNNClassifier as DNNClassifier
from penstock.estimator.canned.dnn import DNNEstimator as DNNEstimator
from penstock.estimator.canned.dnn import DNNRegressor as DNNRegressor
from penstock.estimator.canned.head_classes import BinaryClassHead as BinaryClassHead
from penstock.estimator.canned.head_classes import LogisticRegressionHead as LogisticRegressionHead
from penstock.estimator.canned.head_classes import MultiClassHead as MultiClassHead
from penstock.estimator.canned.head_classes import MultiLabelHead as MultiLabelHead
from penstock.estimator.canned.head_classes import PoissonRegressionHead as PoissonRegressionHead
from penstock.estimator.canned.head_classes import RegressionHead as RegressionHead
from penstock.estimator.canned.linear import LinearClassifier as LinearClassifier
from penstock.estimator.canned.linear import LinearEstimator as LinearEstimator
from penstock.estimator.canned.linear import LinearRegressor as LinearRegressor
from penstock.estimator.canned.parsing import classifier_parse_example_spec as classifier_parse_example_spec
from penstock.estimator.canned.parsing import regressor_parse_example_spec as regressor_parse_example_spec
from penstock.estimator.estimator import Estimator as Estimator
from penstock.estimator.exporter import BestExporter as BestExporter
from penstock.estimator.exporter import Exporter as Exporter
from penstock.estimator.exporter import FinalExporter as FinalExporter
from penstock.estimator.exporter import LatestExporter as LatestExporter
from penstock.estimator.extenders import add_metrics as add_metrics
from penstock.estimator.mode_keys import ModeKeys as ModeKeys
from penstock.estimator.run_config import RunConfig as RunConfig
from penstock.estimator.spec import EstimatorSpec as EstimatorSpec
from penstock.estimator.specs import EvalSpec as EvalSpec
from penstock.estimator.specs import TrainSpec as TrainSpec
from penstock.estimator.train_and_evaluate import train_and_evaluate as train_and_evaluate
from penstock.estimator.warm_start import WarmStartSettings as WarmStartSettings
from penstock.train.session_run_hook import SessionRunArgs as SessionRunArgs
from penstock.train.session_run_hook import SessionRunContext as SessionRunContext
from penstock.train.session_run_hook import SessionRunHook as SessionRunHook
from penstock.train.session_run_hook import SessionRunValues as SessionRunValues
from penstock.train.warm_starting import VocabInfo as VocabInfo
from penstock.training_loop.hooks import FeedFnHook as FeedFnHook
from penstock.training_loop.hooks import FinalOpsHook as FinalOpsHook
from penstock.training_loop.hooks import GlobalStepWaiterHook as GlobalStepWaiterHook
from penstock.training_loop.hooks import LoggingTensorHook as LoggingTensorHook
from penstock.training_loop.hooks import NanLossDuringTrainingError as NanLossDuringTrainingError
from penstock.training_loop.hooks import NanTensorHook as NanTensorHook
from penstock.training_loop.hooks import StepCounterHook as StepCounterHook
from penstock.training_loop.hooks import StopAtStepHook as StopAtStepHook
from penstock.training_loop.profiler_hook import ProfilerHook as ProfilerHook
from penstock.training_loop.saving_hooks import CheckpointSaverHook as CheckpointSaverHook
from penstock.training_loop.saving_hooks import CheckpointSaverListener as CheckpointSaverListener
from penstock.training_loop.saving_hooks import SummarySaverHook as SummarySaverHook
from penstock.training_loop.timers import SecondOrStepTimer as SecondOrStepTimer

__all__ = [
    "experimental", "export", "inputs", "tpu", "BaselineClassifier", "BaselineEstimator", "BaselineRegressor",
    "BoostedTreesClassifier", "BoostedTreesEstimator", "BoostedTreesRegressor", "DNNLinearCombinedClassifier",
    "DNNLinearCombinedEstimator", "DNNLinearCombinedRegressor", "DNNClassifier", "DNNEstimator", "DNNRegressor",
    "BinaryClassHead", "LogisticRegressionHead", "MultiClassHead", "MultiLabelHead", "PoissonRegressionHead",
    "RegressionHead", "LinearClassifier", "LinearEstimator", "LinearRegressor", "classifier_parse_example_spec",
    "regressor_parse_example_spec", "Estimator", "BestExporter", "Exporter", "FinalExporter", "LatestExporter",
    "add_metrics", "ModeKeys", "RunConfig", "EstimatorSpec", "EvalSpec", "TrainSpec", "train_and_evaluate",
    "WarmStartSettings", "SessionRunArgs", "SessionRunContext", "SessionRunHook", "SessionRunValues", "VocabInfo",
    "FeedFnHook", "FinalOpsHook", "GlobalStepWaiterHook", "LoggingTensorHook", "NanLossDuringTrainingError",
    "NanTensorHook", "StepCounterHook", "StopAtStepHook", "ProfilerHook", "CheckpointSaverHook",
    "CheckpointSaverListener", "SummarySaverHook", "SecondOrStepTimer"
]
