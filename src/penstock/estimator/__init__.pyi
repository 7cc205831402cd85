# Written by `python -m penstock.api.generate`.
from penstock.estimator import export as export
from penstock.estimator import inputs as inputs
from penstock.estimator.estimator import Estimator as Estimator
from penstock.estimator.exporter import BestExporter as BestExporter
from penstock.estimator.exporter import Exporter as Exporter
from penstock.estimator.exporter import FinalExporter as FinalExporter
from penstock.estimator.exporter import LatestExporter as LatestExporter
from penstock.estimator.mode_keys import ModeKeys as ModeKeys
from penstock.estimator.run_config import RunConfig as RunConfig
from penstock.estimator.spec import EstimatorSpec as EstimatorSpec
from penstock.estimator.specs import EvalSpec as EvalSpec
from penstock.estimator.specs import TrainSpec as TrainSpec
from penstock.estimator.train_and_evaluate import train_and_evaluate as train_and_evaluate
from penstock.estimator.warm_start import WarmStartSettings as WarmStartSettings

__all__ = [
    "export", "inputs", "Estimator", "BestExporter", "Exporter", "FinalExporter", "LatestExporter", "ModeKeys",
    "RunConfig", "EstimatorSpec", "EvalSpec", "TrainSpec", "train_and_evaluate", "WarmStartSettings"
]
