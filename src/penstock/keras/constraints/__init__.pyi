# Written by `python -m penstock.api.generate`.
from penstock.keras.constraints.classes import Constraint as Constraint
from penstock.keras.constraints.classes import MaxNorm as MaxNorm
from penstock.keras.constraints.classes import MinMaxNorm as MinMaxNorm
from penstock.keras.constraints.classes import NonNeg as NonNeg
from penstock.keras.constraints.classes import UnitNorm as UnitNorm
from penstock.keras.constraints.classes import deserialize as deserialize
from penstock.keras.constraints.classes import get as get
from penstock.keras.constraints.classes import MaxNorm as max_norm
from penstock.keras.constraints.classes import MaxNorm as maxnorm
from penstock.keras.constraints.classes import MinMaxNorm as min_max_norm
from penstock.keras.constraints.classes import NonNeg as non_neg
from penstock.keras.constraints.classes import NonNeg as nonneg
from penstock.keras.constraints.classes import serialize as serialize
from penstock.keras.constraints.classes import UnitNorm as unit_norm
from penstock.keras.constraints.classes import UnitNorm as unitnorm

__all__ = [
    "Constraint", "MaxNorm", "MinMaxNorm", "NonNeg", "UnitNorm", "deserialize", "get", "max_norm", "maxnorm",
    "min_max_norm", "non_neg", "nonneg", "serialize", "unit_norm", "unitnorm"
]
