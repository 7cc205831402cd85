# Written by `python -m penstock.api.generate`.
from penstock.contrib.factorization.kmeans_clustering import LearnKMeansClustering as KMeansClustering
from penstock.contrib.learn import datasets as datasets
from penstock.contrib.learn import monitors as monitors
from penstock.contrib.learn import preprocessing as preprocessing
from penstock.contrib.learn.canned import DNNClassifier as DNNClassifier
from penstock.contrib.learn.canned import DNNLinearCombinedClassifier as DNNLinearCombinedClassifier
from penstock.contrib.learn.canned import DNNLinearCombinedRegressor as DNNLinearCombinedRegressor
from penstock.contrib.learn.canned import DNNRegressor as DNNRegressor
from penstock.contrib.learn.canned import LinearClassifier as LinearClassifier
from penstock.contrib.learn.canned import LinearRegressor as LinearRegressor
from penstock.contrib.learn.canned import PredictionKey as PredictionKey
from penstock.contrib.learn.estimator import Estimator as Estimator
from penstock.contrib.learn.estimator import SKCompat as SKCompat
from penstock.contrib.learn.experiment import Experiment as Experiment
from penstock.contrib.learn.export_strategy import ExportStrategy as ExportStrategy
from penstock.contrib.learn.export_strategy import make_export_strategy as make_export_strategy
from penstock.contrib.learn.graph_actions import evaluate as evaluate
from penstock.contrib.learn.graph_actions import infer as infer
from penstock.contrib.learn.graph_actions import run_feeds as run_feeds
from penstock.contrib.learn.graph_actions import run_n as run_n
from penstock.contrib.learn.graph_actions import train as train
from penstock.contrib.learn.graph_io import read_batch_examples as read_batch_examples
from penstock.contrib.learn.graph_io import read_batch_features as read_batch_features
from penstock.contrib.learn.graph_io import read_batch_record_features as read_batch_record_features
from penstock.contrib.learn.graph_io import read_keyed_batch_examples as read_keyed_batch_examples
from penstock.contrib.learn.graph_io import read_keyed_batch_features as read_keyed_batch_features
from penstock.contrib.learn.inputs import infer_real_valued_columns_from_input as infer_real_valued_columns_from_input
from penstock.contrib.learn.inputs import infer_real_valued_columns_from_input_fn as infer_real_valued_columns_from_input_fn
from penstock.contrib.learn.metric_spec import MetricSpec as MetricSpec
from penstock.contrib.learn.model_fn import ModeKeys as ModeKeys
from penstock.contrib.learn.model_fn import ModelFnOps as ModelFnOps
from penstock.contrib.learn.run_config import RunConfig as RunConfig
from penstock.contrib.learn.serving import InputFnOps as InputFnOps
from penstock.contrib.learn.serving import build_parsing_serving_input_fn as build_parsing_serving_input_fn
from penstock.contrib.learn.skflow import TensorFlowDNNClassifier as TensorFlowDNNClassifier
from penstock.contrib.learn.skflow import TensorFlowDNNRegressor as TensorFlowDNNRegressor
from penstock.contrib.learn.skflow import TensorFlowEstimator as TensorFlowEstimator
from penstock.contrib.learn.skflow import TensorFlowLinearClassifier as TensorFlowLinearClassifier
from penstock.contrib.learn.skflow import TensorFlowLinearRegressor as TensorFlowLinearRegressor
from penstock.contrib.tensor_forest.random_forest import TensorForestEstimator as TensorForestEstimator
from penstock.estimator.cluster import TaskType as TaskType

__all__ = [
    "KMeansClustering", "datasets", "monitors", "preprocessing", "DNNClassifier", "DNNLinearCombinedClassifier",
    "DNNLinearCombinedRegressor", "DNNRegressor", "LinearClassifier", "LinearRegressor", "PredictionKey", "Estimator",
    "SKCompat", "Experiment", "ExportStrategy", "make_export_strategy", "evaluate", "infer", "run_feeds", "run_n",
    "train", "read_batch_examples", "read_batch_features", "read_batch_record_features", "read_keyed_batch_examples",
    "read_keyed_batch_features", "infer_real_valued_columns_from_input", "infer_real_valued_columns_from_input_fn",
    "MetricSpec", "ModeKeys", "ModelFnOps", "RunConfig", "InputFnOps", "build_parsing_serving_input_fn",
    "TensorFlowDNNClassifier", "TensorFlowDNNRegressor", "TensorFlowEstimator", "TensorFlowLinearClassifier",
    "TensorFlowLinearRegressor", "TensorForestEstimator", "TaskType"
]
