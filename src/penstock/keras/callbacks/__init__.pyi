# Written by `python -m penstock.api.generate`.
from penstock.keras.callbacks.base import BaseLogger as BaseLogger
from penstock.keras.callbacks.base import Callback as Callback
from penstock.keras.callbacks.base import History as History
from penstock.keras.callbacks.base import ProgbarLogger as ProgbarLogger
from penstock.keras.callbacks.control import EarlyStopping as EarlyStopping
from penstock.keras.callbacks.control import LambdaCallback as LambdaCallback
from penstock.keras.callbacks.control import LearningRateScheduler as LearningRateScheduler
from penstock.keras.callbacks.control import ReduceLROnPlateau as ReduceLROnPlateau
from penstock.keras.callbacks.control import TerminateOnNaN as TerminateOnNaN
from penstock.keras.callbacks.files import CSVLogger as CSVLogger
from penstock.keras.callbacks.files import ModelCheckpoint as ModelCheckpoint
from penstock.keras.callbacks.remote import RemoteMonitor as RemoteMonitor
from penstock.keras.callbacks.tensorboard import TensorBoard as TensorBoard

__all__ = [
    "BaseLogger", "Callback", "History", "ProgbarLogger", "EarlyStopping", "LambdaCallback", "LearningRateScheduler",
    "ReduceLROnPlateau", "TerminateOnNaN", "CSVLogger", "ModelCheckpoint", "RemoteMonitor", "TensorBoard"
]
