# Written by `python -m penstock.api.generate`.
from penstock.keras.activations.functions import deserialize as deserialize
from penstock.keras.activations.functions import elu as elu
from penstock.keras.activations.functions import exponential as exponential
from penstock.keras.activations.functions import get as get
from penstock.keras.activations.functions import hard_sigmoid as hard_sigmoid
from penstock.keras.activations.functions import linear as linear
from penstock.keras.activations.functions import relu as relu
from penstock.keras.activations.functions import selu as selu
from penstock.keras.activations.functions import serialize as serialize
from penstock.keras.activations.functions import sigmoid as sigmoid
from penstock.keras.activations.functions import softmax as softmax
from penstock.keras.activations.functions import softplus as softplus
from penstock.keras.activations.functions import softsign as softsign
from penstock.keras.activations.functions import tanh as tanh

__all__ = [
    "deserialize", "elu", "exponential", "get", "hard_sigmoid", "linear", "relu", "selu", "serialize", "sigmoid",
    "softmax", "softplus", "softsign", "tanh"
]
