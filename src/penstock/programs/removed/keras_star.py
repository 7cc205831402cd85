"""What modules of Keras have because they import it: `from keras.models import *` gave `K`, `np`, `Input`, `os`.

Facts from Keras 2.0 to 2.2: what each of them had in its modules beside what they define.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from penstock.programs.removed.giving import Source, made

_KERAS = "penstock.python.keras"
_UTILS = "penstock.keras.utils.inner"

_IMPORTED: dict[str, Source] = {
    **{name: f"{name}:" for name in ("copy", "csv", "h5py", "inspect", "io", "json", "marshal", "multiprocessing", "os",
                                     "random", "re", "string", "sys", "threading", "time", "warnings", "yaml")},
    "np": "numpy:", "pickle": "pickle:", "six": "six:", "queue": "queue:", "tf": "penstock:",
    "K": f"{_KERAS}.backend:", "backend": f"{_KERAS}.backend:",
    "deque": "collections:deque", "defaultdict": "collections:defaultdict", "OrderedDict": "collections:OrderedDict",
    "namedtuple": "collections:namedtuple", "Iterable": "collections.abc:Iterable", "partial": "functools:partial",
    "md5": "hashlib:md5", "linalg": "scipy.linalg:", "ndi": "scipy.ndimage:", "pil_image": "PIL.Image:",
    **{name: f"{_KERAS}.{name}:" for name in ("activations", "constraints", "initializers", "optimizers",
                                              "regularizers", "utils", "layers", "models", "losses")},
    "interfaces": f"{_KERAS}.legacy.interfaces:", "topology": f"{_KERAS}.engine.topology:",
    "legacy_layers": f"{_KERAS}.legacy.layers:", "layer_module": f"{_KERAS}.layers:",
    "conv_utils": f"{_KERAS}.utils.conv_utils:", "layer_utils": f"{_KERAS}.utils.layer_utils:",
    "imagenet_utils": f"{_KERAS}.applications.imagenet_utils:",
    **{name: f"{_UTILS}:{name}" for name in ("has_arg", "to_list", "unpack_singleton", "is_all_none", "object_list_uid",
                                             "count_params")},
    "deserialize_keras_object": "penstock.keras.utils:deserialize_keras_object",
    "serialize_keras_object": "penstock.keras.utils:serialize_keras_object",
    "get_file": "penstock.keras.utils:get_file", "Progbar": "penstock.keras.utils:Progbar",
    "Sequence": "penstock.keras.utils:Sequence", "get_source_inputs": "penstock.keras.utils:get_source_inputs",
    "to_categorical": "penstock.keras.utils:to_categorical",
    "Layer": "penstock.keras.layers:Layer", "InputSpec": "penstock.keras.layers:InputSpec",
    "Input": "penstock.keras:Input",
    "InputLayer": "penstock.keras.layers:InputLayer", "Lambda": "penstock.keras.layers:Lambda",
    "concatenate": "penstock.keras.layers:concatenate", "Model": "penstock.keras.models:Model",
    "Sequential": "penstock.keras.models:Sequential", "clone_model": "penstock.keras.models:clone_model",
    "ask_to_proceed_with_overwrite": "penstock.programs.removed.keras_backend:ask_to_proceed_with_overwrite",
    "standardize_input_data": "penstock.programs.removed.keras_training:standardize_input_data",
    "transpose_shape": "penstock.programs.removed.keras_backend:transpose_shape",
}  # fmt: skip
"""What the names below are."""

_OF_LAYERS = "K activations constraints has_arg initializers interfaces np regularizers to_list warnings"
_OF_FUNCTIONS = "K deserialize_keras_object serialize_keras_object six warnings Layer"
_OF_MODELS = "K Input Model get_file get_source_inputs imagenet_utils layers os warnings layer_utils"

SEEN = {
    "activations": _OF_FUNCTIONS,
    "backend": "np os sys json has_arg defaultdict",
    "backend.common": "np",
    "backend.tensorflow_backend": "np os has_arg defaultdict transpose_shape",
    "callbacks": "K Iterable OrderedDict csv deque io json np os six tf time warnings Layer Progbar "
    "standardize_input_data",
    "constraints": _OF_FUNCTIONS,
    "applications.imagenet_utils": "K get_file json np warnings",
    "engine": "get_source_inputs",
    "engine.base_layer": "K copy count_params has_arg initializers interfaces is_all_none object_list_uid re to_list "
    "unpack_singleton",
    "engine.input_layer": "K interfaces unpack_singleton",
    "engine.network": "K InputLayer copy get_source_inputs has_arg interfaces np object_list_uid os to_list warnings "
    "unpack_singleton yaml h5py json ask_to_proceed_with_overwrite",
    "engine.saving": "K conv_utils h5py json np optimizers os warnings yaml ask_to_proceed_with_overwrite",
    "engine.sequential": "K Layer copy warnings h5py",
    "engine.topology": "K conv_utils copy count_params has_arg interfaces json np os re warnings yaml h5py Input "
    "InputLayer InputSpec Layer get_source_inputs ask_to_proceed_with_overwrite",
    "engine.training": "K Sequence Progbar Layer copy np warnings six interfaces to_list unpack_singleton queue",
    "initializers": "K np deserialize_keras_object serialize_keras_object six",
    "layers": f"{_OF_LAYERS} Input InputLayer InputSpec Layer conv_utils copy deserialize_keras_object namedtuple",
    "layers.advanced_activations": f"{_OF_LAYERS} InputSpec Layer",
    "layers.convolutional": f"{_OF_LAYERS} InputSpec Layer conv_utils transpose_shape",
    "layers.convolutional_recurrent": f"{_OF_LAYERS} InputSpec Layer conv_utils transpose_shape",
    "layers.core": f"{_OF_LAYERS} InputSpec Layer conv_utils copy deserialize_keras_object",
    "layers.cudnn_recurrent": f"{_OF_LAYERS} InputSpec namedtuple",
    "layers.embeddings": f"{_OF_LAYERS} Layer",
    "layers.local": f"{_OF_LAYERS} InputSpec Layer conv_utils",
    "layers.merge": "K Layer",
    "layers.noise": "K np Layer interfaces",
    "layers.normalization": f"{_OF_LAYERS} InputSpec Layer",
    "layers.pooling": "K InputSpec Layer conv_utils interfaces",
    "layers.recurrent": f"{_OF_LAYERS} InputSpec Layer",
    "layers.wrappers": "K copy has_arg InputSpec Layer",
    "legacy.layers": f"{_OF_LAYERS} InputSpec Layer conv_utils",
    "losses": "K deserialize_keras_object serialize_keras_object six",
    "metrics": "K deserialize_keras_object serialize_keras_object six",
    "models": "K Input InputLayer Layer Model Sequential copy h5py has_arg interfaces json layer_module legacy_layers "
    "np optimizers os to_list topology warnings yaml ask_to_proceed_with_overwrite",
    "objectives": "K deserialize_keras_object serialize_keras_object six",
    "optimizers": "K copy deserialize_keras_object serialize_keras_object interfaces six tf",
    "preprocessing": "backend utils",
    "preprocessing.image": "K backend linalg multiprocessing ndi np os partial pil_image re threading utils warnings "
    "Sequence",
    "preprocessing.sequence": "np random utils Sequence",
    "preprocessing.text": "OrderedDict md5 np string sys warnings",
    "regularizers": "K deserialize_keras_object serialize_keras_object six",
    "utils.data_utils": "np os queue random sys threading time warnings six multiprocessing",
    "utils.generic_utils": "inspect marshal six sys time np",
    "utils.io_utils": "np h5py pickle six sys defaultdict",
    "utils.multi_gpu_utils": "K Lambda Model clone_model concatenate to_list",
    "utils.np_utils": "np",
    "utils.vis_utils": "os",
    "wrappers.scikit_learn": "Sequential copy has_arg np to_categorical to_list",
    **dict.fromkeys(
        ("applications.densenet", "applications.inception_resnet_v2", "applications.inception_v3",
         "applications.mobilenet", "applications.resnet50", "applications.vgg16", "applications.vgg19",
         "applications.xception"), _OF_MODELS),
}  # fmt: skip
"""By a module of `keras`: names that it imports."""


def seen(path: str) -> dict[str, Source]:
    """What the module imports, by name."""
    return {name: _IMPORTED[name] for name in SEEN.get(path, "").split()}


def give_quietly(module: ModuleType, names: Mapping[str, Source]) -> None:
    """Names that the module lacks, which are no use of what is gone: made when they are asked for."""
    before = vars(module).get("__getattr__")

    def __getattr__(name: str) -> Any:
        if before is not None:
            with contextlib.suppress(AttributeError):
                return before(name)
        if name in names:
            return made(names[name])
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    vars(module)["__getattr__"] = __getattr__


def give_star(module: ModuleType, names: Mapping[str, Source], sources: Iterable[str]) -> None:
    """`from module import *` gives these names, too, beside the public ones of the modules `sources`.

    They are made when it asks for the module's list of names, so that none is told as used.
    """
    before = vars(module).get("__getattr__")

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            known = (getattr(importlib.import_module(source), "__all__", ()) for source in sources)
            return [*itertools.chain.from_iterable(known), *_made(module, names)]
        if before is not None:
            return before(name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    vars(module)["__getattr__"] = __getattr__


def _made(module: ModuleType, names: Mapping[str, Source]) -> list[str]:
    """The public ones of these names that can be made, as attributes of the module from now on."""
    for name, source in names.items():
        if not name.startswith("_") and name not in vars(module):
            with contextlib.suppress(ImportError, AttributeError):
                vars(module)[name] = made(source)
    return [name for name in names if name in vars(module)]
