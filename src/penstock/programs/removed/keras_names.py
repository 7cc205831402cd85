"""Names that Keras had as a package of its own, and tf.keras has not: Keras 1's and 2.0 to 2.3's.

Facts from Keras 2.0 and 2.2, and from the release notes of 2.0 for what Keras 1 had.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from types import ModuleType

from penstock.api.old_paths import add_module
from penstock.programs.removed.giving import Source, give

_LEGACY = "penstock.programs.removed.keras_legacy"
_OPTIMIZERS = {name.lower(): f"penstock.keras.optimizers:{name}" for name in
               ("SGD", "RMSprop", "Adagrad", "Adadelta", "Adam", "Adamax", "Nadam")}  # fmt: skip
_SETTINGS = "epsilon set_epsilon floatx set_floatx cast_to_floatx image_data_format set_image_data_format"
_BACKEND: dict[str, Source] = {
    "image_dim_ordering": f"{_LEGACY}:image_dim_ordering",
    "set_image_dim_ordering": f"{_LEGACY}:set_image_dim_ordering",
    "normalize_data_format": "penstock.keras.backend.settings:check_data_format",
    "tf": "penstock:",
    "_EPSILON": lambda: importlib.import_module("penstock.keras.backend").epsilon(),
    "_to_tensor": f"{_LEGACY}:to_tensor",
    **{f"{name}_ops": f"penstock.python.ops.{name}_ops:" for name in ("control_flow", "functional", "tensor_array")},
    "moving_averages": "penstock.python.training.moving_averages:",
    "ops": "penstock.python.framework.ops:",
}
_LAYERS: dict[str, Source] = {
    name: f"{_LEGACY}:{name}" for name in ("merge", "Merge", "AtrousConvolution1D", "AtrousConvolution2D", "Highway",
                                           "MaxoutDense", "TimeDistributedDense")
}  # fmt: skip

_INNER = "penstock.programs.removed.keras_inner"
_NODES: dict[str, Source] = {
    "_collect_previous_mask": f"{_INNER}:collect_previous_mask",
    "_collect_input_shape": f"{_INNER}:collect_input_shape",
    "_to_snake_case": f"{_INNER}:snake_case",
    "_to_list": f"{_INNER}:as_list",
    "Node": "penstock.keras.engine.node:Node",
}
_FILES: dict[str, Source] = {
    name: f"{_INNER}:{name}" for name in ("load_weights_from_hdf5_group", "load_weights_from_hdf5_group_by_name")
}
_RECURRENT: dict[str, Source] = {
    "Recurrent": f"{_INNER}:Recurrent",
    "_time_distributed_dense": f"{_INNER}:time_distributed_dense",
    "time_distributed_dense": f"{_INNER}:time_distributed_dense",
}
_NETWORK = "penstock.keras.engine.model:Model"

NAMES: dict[str, Mapping[str, Source]] = {
    "optimizers": {**_OPTIMIZERS, "clip_norm": f"{_INNER}:clip_norm"},
    "initializers": {"_compute_fans": f"{_INNER}:compute_fans"},
    "engine": {"Network": _NETWORK, "Container": _NETWORK},
    "engine.base_layer": _NODES,
    "engine.network": {"Network": _NETWORK},
    "engine.saving": _FILES,
    "engine.topology": {**_NODES, **_FILES, "Container": _NETWORK},
    "backend": _BACKEND,
    "backend.tensorflow_backend": _BACKEND,
    "layers": {**_LAYERS, **_RECURRENT, "K": "penstock.keras.backend:"},
    "layers.core": {**_LAYERS, "K": "penstock.keras.backend:"},
    "layers.convolutional": {**_LAYERS, "_Conv": f"{_INNER}:Conv"},
    "layers.pooling": {
        "_GlobalPooling1D": f"{_INNER}:GlobalPooling1D",
        "_GlobalPooling2D": f"{_INNER}:GlobalPooling2D",
        "_Pooling2D": f"{_INNER}:Pooling2D",
    },
    "layers.recurrent": _RECURRENT,
    "layers.merge": {"_Merge": "penstock.keras.layers.merge:_Merge", **_LAYERS},
    "models": {"Input": "penstock.keras:Input"},
    "regularizers": {"l1l2": "penstock.keras.regularizers:l1_l2", "activity_l1": "penstock.keras.regularizers:l1",
                     "activity_l2": "penstock.keras.regularizers:l2"},
    "applications.imagenet_utils": {"_obtain_input_shape": f"{_LEGACY}:obtain_input_shape"},
    "applications.mobilenet": {"relu6": f"{_LEGACY}:relu6", "DepthwiseConv2D": "penstock.keras.layers:DepthwiseConv2D"},
    "preprocessing.text": {"base_filter": f"{_LEGACY}:base_filter"},
    "preprocessing.image": {"list_pictures": f"{_LEGACY}:list_pictures",
                            "transform_matrix_offset_center": f"{_INNER}:transform_matrix_offset_center"},
}  # fmt: skip
"""By a module of `keras`: the names that it lacks, and where they are."""

_SHAPES = "_obtain_input_shape"
for _name in ("densenet", "inception_resnet_v2", "inception_v3", "mobilenet", "resnet50", "vgg16", "vgg19", "xception"):
    _here = f"applications.{_name}"
    NAMES[_here] = {**NAMES.get(_here, {}), _SHAPES: f"{_LEGACY}:obtain_input_shape"}

MODULES: dict[str, Mapping[str, Source]] = {
    "objectives": {},
    "initializations": {},
    "legacy": {},
    "legacy.layers": {**_LAYERS, **_RECURRENT},
    "legacy.interfaces": {},
    "backend.common": {
        **_BACKEND,
        **{name: f"penstock.keras.backend:{name}" for name in _SETTINGS.split()},
    },
    "utils.visualize_util": {
        "plot": "penstock.keras.utils:plot_model",
        "model_to_dot": "penstock.keras.utils:model_to_dot",
    },
    "utils.training_utils": {"multi_gpu_model": "penstock.keras.utils:multi_gpu_model"},
}
"""Modules of `keras` that are no more, and names that they have beside those of `_LIKE`."""

_LIKE = {"objectives": "losses", "initializations": "initializers"}


def add_names(package: str) -> None:
    """Give the modules of `package`, and those that are no more, these names."""
    for path, names in MODULES.items():
        like = [importlib.import_module(f"{package}.{_LIKE[path]}")] if path in _LIKE else []
        module = add_module(f"{package}.{path}")
        if like:
            module.__class__ = type(like[0])
            vars(module)["_sources"] = vars(like[0])["_sources"]
        give(module, names, f"keras.{path}")
    importlib.import_module(_LEGACY).add_interfaces(sys.modules[f"{package}.legacy.interfaces"])
    for path, names in NAMES.items():
        give(_module(f"{package}.{path}"), names, f"keras.{path}")
    # A module of the same name is an attribute already; it is imported from as before.
    vars(sys.modules[f"{package}.layers"]).pop("merge", None)


def _module(path: str) -> ModuleType:
    return importlib.import_module(path)
