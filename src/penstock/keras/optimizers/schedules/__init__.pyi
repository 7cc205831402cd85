# Written by `python -m penstock.api.generate`.
from penstock.keras.optimizers.schedules.classes import ExponentialDecay as ExponentialDecay
from penstock.keras.optimizers.schedules.classes import InverseTimeDecay as InverseTimeDecay
from penstock.keras.optimizers.schedules.classes import LearningRateSchedule as LearningRateSchedule
from penstock.keras.optimizers.schedules.classes import PiecewiseConstantDecay as PiecewiseConstantDecay
from penstock.keras.optimizers.schedules.classes import PolynomialDecay as PolynomialDecay
from penstock.keras.optimizers.schedules.classes import deserialize as deserialize
from penstock.keras.optimizers.schedules.classes import serialize as serialize

__all__ = [
    "ExponentialDecay", "InverseTimeDecay", "LearningRateSchedule", "PiecewiseConstantDecay", "PolynomialDecay",
    "deserialize", "serialize"
]
