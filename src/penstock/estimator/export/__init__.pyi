# Written by `python -m penstock.api.generate`.
from penstock.estimator.export.outputs import ClassificationOutput as ClassificationOutput
from penstock.estimator.export.outputs import ExportOutput as ExportOutput
from penstock.estimator.export.outputs import PredictOutput as PredictOutput
from penstock.estimator.export.outputs import RegressionOutput as RegressionOutput

__all__ = [
    "ClassificationOutput", "ExportOutput", "PredictOutput", "RegressionOutput"
]
