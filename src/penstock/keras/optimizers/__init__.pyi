# Written by `python -m penstock.api.generate`.
from penstock.keras.optimizers import schedules as schedules
from penstock.keras.optimizers.base import Optimizer as Optimizer
from penstock.keras.optimizers.base import deserialize as deserialize
from penstock.keras.optimizers.base import get as get
from penstock.keras.optimizers.base import serialize as serialize
from penstock.keras.optimizers.classes import Adadelta as Adadelta
from penstock.keras.optimizers.classes import Adagrad as Adagrad
from penstock.keras.optimizers.classes import Adam as Adam
from penstock.keras.optimizers.classes import Adamax as Adamax
from penstock.keras.optimizers.classes import Nadam as Nadam
from penstock.keras.optimizers.classes import RMSprop as RMSprop
from penstock.keras.optimizers.classes import SGD as SGD

__all__ = [
    "schedules", "Optimizer", "deserialize", "get", "serialize", "Adadelta", "Adagrad", "Adam", "Adamax", "Nadam",
    "RMSprop", "SGD"
]
