# Written by `python -m penstock.api.generate`.
from penstock.keras.engine.topology import get_source_inputs as get_source_inputs
from penstock.keras.named import CustomObjectScope as CustomObjectScope
from penstock.keras.named import custom_object_scope as custom_object_scope
from penstock.keras.named import deserialize_keras_object as deserialize_keras_object
from penstock.keras.named import get_custom_objects as get_custom_objects
from penstock.keras.named import described as serialize_keras_object
from penstock.keras.utils.arrays import Sequence as Sequence
from penstock.keras.utils.arrays import normalize as normalize
from penstock.keras.utils.arrays import to_categorical as to_categorical
from penstock.keras.utils.files import get_file as get_file
from penstock.keras.utils.progress_bar import Progbar as Progbar

__all__ = [
    "get_source_inputs", "CustomObjectScope", "custom_object_scope", "deserialize_keras_object", "get_custom_objects",
    "serialize_keras_object", "Sequence", "normalize", "to_categorical", "get_file", "Progbar"
]
