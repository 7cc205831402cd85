# Written by `python -m penstock.api.generate`.
from penstock.keras.initializers.classes import Constant as Constant
from penstock.keras.initializers.classes import GlorotNormal as GlorotNormal
from penstock.keras.initializers.classes import GlorotUniform as GlorotUniform
from penstock.keras.initializers.classes import Identity as Identity
from penstock.keras.initializers.classes import Initializer as Initializer
from penstock.keras.initializers.classes import Ones as Ones
from penstock.keras.initializers.classes import Orthogonal as Orthogonal
from penstock.keras.initializers.classes import RandomNormal as RandomNormal
from penstock.keras.initializers.classes import RandomUniform as RandomUniform
from penstock.keras.initializers.classes import TruncatedNormal as TruncatedNormal
from penstock.keras.initializers.classes import VarianceScaling as VarianceScaling
from penstock.keras.initializers.classes import Zeros as Zeros
from penstock.keras.initializers.classes import Constant as constant
from penstock.keras.initializers.classes import deserialize as deserialize
from penstock.keras.initializers.classes import get as get
from penstock.keras.initializers.classes import GlorotNormal as glorot_normal
from penstock.keras.initializers.classes import GlorotUniform as glorot_uniform
from penstock.keras.initializers.classes import he_normal as he_normal
from penstock.keras.initializers.classes import he_uniform as he_uniform
from penstock.keras.initializers.classes import Identity as identity
from penstock.keras.initializers.classes import lecun_normal as lecun_normal
from penstock.keras.initializers.classes import lecun_uniform as lecun_uniform
from penstock.keras.initializers.classes import RandomNormal as normal
from penstock.keras.initializers.classes import Ones as one
from penstock.keras.initializers.classes import Ones as ones
from penstock.keras.initializers.classes import Orthogonal as orthogonal
from penstock.keras.initializers.classes import RandomNormal as random_normal
from penstock.keras.initializers.classes import RandomUniform as random_uniform
from penstock.keras.initializers.classes import serialize as serialize
from penstock.keras.initializers.classes import TruncatedNormal as truncated_normal
from penstock.keras.initializers.classes import RandomUniform as uniform
from penstock.keras.initializers.classes import Zeros as zero
from penstock.keras.initializers.classes import Zeros as zeros

__all__ = [
    "Constant", "GlorotNormal", "GlorotUniform", "Identity", "Initializer", "Ones", "Orthogonal", "RandomNormal",
    "RandomUniform", "TruncatedNormal", "VarianceScaling", "Zeros", "constant", "deserialize", "get", "glorot_normal",
    "glorot_uniform", "he_normal", "he_uniform", "identity", "lecun_normal", "lecun_uniform", "normal", "one", "ones",
    "orthogonal", "random_normal", "random_uniform", "serialize", "truncated_normal", "uniform", "zero", "zeros"
]
