# Written by `python -m penstock.api.generate`.
from penstock.estimator.export.outputs import ClassificationOutput as ClassificationOutput
from penstock.estimator.export.outputs import ExportOutput as ExportOutput
from penstock.estimator.export.outputs import PredictOutput as PredictOutput
from penstock.estimator.export.outputs import RegressionOutput as RegressionOutput
from penstock.estimator.export.receivers import ServingInputReceiver as ServingInputReceiver
from penstock.estimator.export.receivers import TensorServingInputReceiver as TensorServingInputReceiver
from penstock.estimator.export.receivers import build_parsing_serving_input_receiver_fn as build_parsing_serving_input_receiver_fn
from penstock.estimator.export.receivers import build_raw_serving_input_receiver_fn as build_raw_serving_input_receiver_fn

__all__ = [
    "ClassificationOutput", "ExportOutput", "PredictOutput", "RegressionOutput", "ServingInputReceiver",
    "TensorServingInputReceiver", "build_parsing_serving_input_receiver_fn", "build_raw_serving_input_receiver_fn"
]
