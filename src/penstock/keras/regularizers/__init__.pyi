# Written by `python -m penstock.api.generate`.
from penstock.keras.regularizers.classes import L1L2 as L1L2
from penstock.keras.regularizers.classes import Regularizer as Regularizer
from penstock.keras.regularizers.classes import deserialize as deserialize
from penstock.keras.regularizers.classes import get as get
from penstock.keras.regularizers.classes import l1 as l1
from penstock.keras.regularizers.classes import l1_l2 as l1_l2
from penstock.keras.regularizers.classes import l2 as l2
from penstock.keras.regularizers.classes import serialize as serialize

__all__ = [
    "L1L2", "Regularizer", "deserialize", "get", "l1", "l1_l2", "l2", "serialize"
]
