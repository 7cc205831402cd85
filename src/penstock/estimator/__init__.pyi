# Written by `python -m penstock.api.generate`.
from penstock.estimator import export as export
from penstock.estimator import inputs as inputs
from penstock.estimator.estimator import Estimator as Estimator
from penstock.estimator.mode_keys import ModeKeys as ModeKeys
from penstock.estimator.run_config import RunConfig as RunConfig
from penstock.estimator.spec import EstimatorSpec as EstimatorSpec
from penstock.estimator.warm_start import WarmStartSettings as WarmStartSettings

__all__ = [
    "export", "inputs", "Estimator", "ModeKeys", "RunConfig", "EstimatorSpec", "WarmStartSettings"
]
