# Written by `python -m penstock.api.generate`.
from penstock.keras import activations as activations
from penstock.keras import applications as applications
from penstock.keras import backend as backend
from penstock.keras import callbacks as callbacks
from penstock.keras import constraints as constraints
from penstock.keras import datasets as datasets
from penstock.keras import estimator as estimator
from penstock.keras import initializers as initializers
from penstock.keras import layers as layers
from penstock.keras import losses as losses
from penstock.keras import metrics as metrics
from penstock.keras import models as models
from penstock.keras import optimizers as optimizers
from penstock.keras import preprocessing as preprocessing
from penstock.keras import regularizers as regularizers
from penstock.keras import utils as utils
from penstock.keras import wrappers as wrappers
from penstock.keras.engine.files import VERSION as __version__
from penstock.keras.engine.input_layer import Input as Input
from penstock.keras.engine.model import Model as Model
from penstock.keras.engine.sequential import Sequential as Sequential

__all__ = [
    "activations", "applications", "backend", "callbacks", "constraints", "datasets", "estimator", "initializers",
    "layers", "losses", "metrics", "models", "optimizers", "preprocessing", "regularizers", "utils", "wrappers",
    "__version__", "Input", "Model", "Sequential"
]
