# Written by `python -m penstock.api.generate`.
from penstock.keras.losses.classes import BinaryCrossentropy as BinaryCrossentropy
from penstock.keras.losses.classes import CategoricalCrossentropy as CategoricalCrossentropy
from penstock.keras.losses.classes import Hinge as Hinge
from penstock.keras.losses.classes import Huber as Huber
from penstock.keras.losses.classes import LogCosh as LogCosh
from penstock.keras.losses.classes import Loss as Loss
from penstock.keras.losses.classes import MeanAbsoluteError as MeanAbsoluteError
from penstock.keras.losses.classes import MeanAbsolutePercentageError as MeanAbsolutePercentageError
from penstock.keras.losses.classes import MeanSquaredError as MeanSquaredError
from penstock.keras.losses.classes import MeanSquaredLogarithmicError as MeanSquaredLogarithmicError
from penstock.keras.losses.classes import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from penstock.keras.losses.functions import kullback_leibler_divergence as KLD
from penstock.keras.losses.functions import mean_absolute_error as MAE
from penstock.keras.losses.functions import mean_absolute_percentage_error as MAPE
from penstock.keras.losses.functions import mean_squared_error as MSE
from penstock.keras.losses.functions import mean_squared_logarithmic_error as MSLE
from penstock.keras.losses.functions import binary_crossentropy as binary_crossentropy
from penstock.keras.losses.functions import categorical_crossentropy as categorical_crossentropy
from penstock.keras.losses.functions import categorical_hinge as categorical_hinge
from penstock.keras.losses.functions import cosine_proximity as cosine
from penstock.keras.losses.functions import cosine_proximity as cosine_proximity
from penstock.keras.losses.functions import cosine_proximity as cosine_similarity
from penstock.keras.losses.functions import deserialize as deserialize
from penstock.keras.losses.functions import get as get
from penstock.keras.losses.functions import hinge as hinge
from penstock.keras.losses.functions import huber_loss as huber_loss
from penstock.keras.losses.functions import kullback_leibler_divergence as kld
from penstock.keras.losses.functions import kullback_leibler_divergence as kullback_leibler_divergence
from penstock.keras.losses.functions import logcosh as logcosh
from penstock.keras.losses.functions import mean_absolute_error as mae
from penstock.keras.losses.functions import mean_absolute_percentage_error as mape
from penstock.keras.losses.functions import mean_absolute_error as mean_absolute_error
from penstock.keras.losses.functions import mean_absolute_percentage_error as mean_absolute_percentage_error
from penstock.keras.losses.functions import mean_squared_error as mean_squared_error
from penstock.keras.losses.functions import mean_squared_logarithmic_error as mean_squared_logarithmic_error
from penstock.keras.losses.functions import mean_squared_error as mse
from penstock.keras.losses.functions import mean_squared_logarithmic_error as msle
from penstock.keras.losses.functions import poisson as poisson
from penstock.keras.losses.functions import serialize as serialize
from penstock.keras.losses.functions import sparse_categorical_crossentropy as sparse_categorical_crossentropy
from penstock.keras.losses.functions import squared_hinge as squared_hinge

__all__ = [
    "BinaryCrossentropy", "CategoricalCrossentropy", "Hinge", "Huber", "LogCosh", "Loss", "MeanAbsoluteError",
    "MeanAbsolutePercentageError", "MeanSquaredError", "MeanSquaredLogarithmicError", "SparseCategoricalCrossentropy",
    "KLD", "MAE", "MAPE", "MSE", "MSLE", "binary_crossentropy", "categorical_crossentropy", "categorical_hinge",
    "cosine", "cosine_proximity", "cosine_similarity", "deserialize", "get", "hinge", "huber_loss", "kld",
    "kullback_leibler_divergence", "logcosh", "mae", "mape", "mean_absolute_error", "mean_absolute_percentage_error",
    "mean_squared_error", "mean_squared_logarithmic_error", "mse", "msle", "poisson", "serialize",
    "sparse_categorical_crossentropy", "squared_hinge"
]
