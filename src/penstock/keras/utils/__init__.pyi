# Written by `python -m penstock.api.generate`.
from penstock.keras.engine.topology import get_source_inputs as get_source_inputs
from penstock.keras.models.plotting import model_to_dot as model_to_dot
from penstock.keras.models.plotting import plot_model as plot_model
from penstock.keras.models.several_gpus import multi_gpu_model as multi_gpu_model
from penstock.keras.named import CustomObjectScope as CustomObjectScope
from penstock.keras.named import custom_object_scope as custom_object_scope
from penstock.keras.named import deserialize_keras_object as deserialize_keras_object
from penstock.keras.named import get_custom_objects as get_custom_objects
from penstock.keras.named import described as serialize_keras_object
from penstock.keras.utils.arrays import Sequence as Sequence
from penstock.keras.utils.arrays import normalize as normalize
from penstock.keras.utils.arrays import to_categorical as to_categorical
from penstock.keras.utils.files import get_file as get_file
from penstock.keras.utils.hdf5_matrix import HDF5Matrix as HDF5Matrix
from penstock.keras.utils.progress_bar import Progbar as Progbar

__all__ = [
    "get_source_inputs", "model_to_dot", "plot_model", "multi_gpu_model", "CustomObjectScope", "custom_object_scope",
    "deserialize_keras_object", "get_custom_objects", "serialize_keras_object", "Sequence", "normalize",
    "to_categorical", "get_file", "HDF5Matrix", "Progbar"
]
