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
from penstock.programs.removed.keras_arguments import give_backend_arguments, give_image_arguments
from penstock.programs.removed.keras_star import SEEN, give_quietly, give_star, seen

_LEGACY = "penstock.programs.removed.keras_legacy"
_OPTIMIZERS = {name.lower(): f"penstock.keras.optimizers:{name}" for name in
               ("SGD", "RMSprop", "Adagrad", "Adadelta", "Adam", "Adamax", "Nadam")}  # fmt: skip
_BACKEND_OF_KERAS = "penstock.programs.removed.keras_backend"
_CODE = "penstock.programs.removed.keras_code"
_SETTINGS = "epsilon set_epsilon floatx set_floatx cast_to_floatx image_data_format set_image_data_format"
_BACKEND: dict[str, Source] = {
    "image_dim_ordering": f"{_LEGACY}:image_dim_ordering",
    "set_image_dim_ordering": f"{_LEGACY}:set_image_dim_ordering",
    "normalize_data_format": "penstock.keras.backend.settings:check_data_format",
    "tf": "penstock:",
    **{
        name: f"{_BACKEND_OF_KERAS}:{name}"
        for name in (
            "py_all",
            "py_any",
            "py_sum",
            "py_slice",
            "slice",
            "is_tensor",
            "get_variable_shape",
            "conv3d_transpose",
            "separable_conv1d",
        )
    },
    "Function": "penstock.keras.backend.state:Function",
    "has_arg": "penstock.keras.utils.inner:has_arg",
    "_BACKEND": lambda: "tensorflow",
    "_EPSILON": lambda: importlib.import_module("penstock.keras.backend").epsilon(),
    "_to_tensor": f"{_LEGACY}:to_tensor",
    **{f"{name}_ops": f"penstock.python.ops.{name}_ops:" for name in ("control_flow", "functional", "tensor_array")},
    "moving_averages": "penstock.python.training.moving_averages:",
    "ops": "penstock.python.framework.ops:",
}
_TENSORFLOW_BACKEND: dict[str, Source] = {
    **_BACKEND,
    **{
        f"_{name}": f"{_BACKEND_OF_KERAS}:{name}"
        for name in (
            "preprocess_padding",
            "preprocess_conv1d_input",
            "preprocess_conv2d_input",
            "preprocess_conv3d_input",
            "postprocess_conv2d_output",
            "postprocess_conv3d_output",
            "get_available_gpus",
            "has_nchw_support",
            "is_current_explicit_device",
            "initialize_variables",
            "convert_string_dtype",
            "regular_normalize_batch_in_training",
        )
    },
}
_LAYERS: dict[str, Source] = {
    name: f"{_LEGACY}:{name}" for name in ("merge", "Merge", "AtrousConvolution1D", "AtrousConvolution2D", "Highway",
                                           "MaxoutDense", "TimeDistributedDense")
}  # fmt: skip

_MERGES: dict[str, Source] = {name: f"{_LEGACY}:{name}" for name in ("merge", "Merge")}

_INNER = "penstock.programs.removed.keras_inner"
_TRAINING_OF_KERAS = "penstock.programs.removed.keras_training"
_PREPARING: dict[str, Source] = {
    **{
        name: f"{_TRAINING_OF_KERAS}:{name}"
        for name in (
            "batch_shuffle",
            "check_array_length_consistency",
            "check_loss_and_target_compatibility",
            "collect_metrics",
            "make_batches",
            "standardize_class_weights",
            "standardize_input_data",
            "standardize_sample_or_class_weights",
            "standardize_sample_weights",
            "standardize_single_array",
            "standardize_weights",
            "weighted_masked_objective",
        )
    },
    "slice_arrays": "penstock.keras.utils.inner:slice_arrays",
}
_OLD_PREPARING: dict[str, Source] = {
    **{f"_{name}": source for name, source in _PREPARING.items()},
    "_check_array_lengths": f"{_TRAINING_OF_KERAS}:check_array_length_consistency",
}
_GENERATORS: dict[str, Source] = {
    name: f"{_TRAINING_OF_KERAS}:{name}" for name in ("fit_generator", "evaluate_generator", "predict_generator")
}
_QUEUES: dict[str, Source] = {
    name: f"penstock.programs.removed.keras_queues:{name}"
    for name in ("GeneratorEnqueuer", "OrderedEnqueuer", "SequenceEnqueuer")
}
_NODES: dict[str, Source] = {
    "_collect_previous_mask": f"{_INNER}:collect_previous_mask",
    "_collect_input_shape": f"{_INNER}:collect_input_shape",
    "_to_snake_case": f"{_INNER}:snake_case",
    "_to_list": f"{_INNER}:as_list",
    "Node": "penstock.keras.engine.node:Node",
}
_FILES: dict[str, Source] = {
    **{
        name: f"{_INNER}:{name}"
        for name in (
            "load_weights_from_hdf5_group",
            "load_weights_from_hdf5_group_by_name",
            "save_weights_to_hdf5_group",
            "load_attributes_from_hdf5_group",
            "save_attributes_to_hdf5_group",
            "preprocess_weights_for_loading",
        )
    },
    "HDF5_OBJECT_HEADER_LIMIT": lambda: 64512,
}
_RECURRENT: dict[str, Source] = {
    "Recurrent": f"{_INNER}:Recurrent",
    "_generate_dropout_mask": f"{_BACKEND_OF_KERAS}:generate_dropout_mask",
    "_standardize_args": f"{_BACKEND_OF_KERAS}:standardize_args",
    "_time_distributed_dense": f"{_INNER}:time_distributed_dense",
    "time_distributed_dense": f"{_INNER}:time_distributed_dense",
}
_NETWORK = "penstock.keras.engine.model:Model"
_OLD_CONVOLUTIONS: dict[str, Source] = {
    "AtrousConv1D": f"{_LEGACY}:AtrousConvolution1D",
    "AtrousConv2D": f"{_LEGACY}:AtrousConvolution2D",
    "Deconv2D": "penstock.keras.layers:Conv2DTranspose",
    "Deconvolution2D": "penstock.keras.layers:Conv2DTranspose",
    "Deconv3D": "penstock.keras.layers:Conv3DTranspose",
    "Deconvolution3D": "penstock.keras.layers:Conv3DTranspose",
}
_RECURRENT_CONVOLUTIONS: dict[str, Source] = {
    "ConvLSTM2DCell": "penstock.keras.layers.convolutional_recurrent:ConvLSTM2DCell",
    "ConvRecurrent2D": "penstock.programs.removed.keras_convolutions:ConvRecurrent2D",
}
_CLASSES_OF_PADDING: dict[str, Source] = {
    name: f"penstock.keras.layers.padding:{name}" for name in ("_Cropping", "_UpSampling", "_ZeroPadding")
}
_SEQUENCES: dict[str, Source] = {"_remove_long_seq": f"{_BACKEND_OF_KERAS}:remove_long_seq"}

NAMES: dict[str, Mapping[str, Source]] = {
    "optimizers": {**_OPTIMIZERS, "clip_norm": f"{_INNER}:clip_norm"},
    "initializers": {"_compute_fans": f"{_INNER}:compute_fans"},
    "engine": {"Network": _NETWORK, "Container": _NETWORK, **_MERGES},
    "engine.base_layer": _NODES,
    "engine.input_layer": _NODES,
    "engine.network": {"Network": _NETWORK},
    "engine.training": {**_PREPARING, **_OLD_PREPARING, **_QUEUES, "Container": _NETWORK, "Network": _NETWORK},
    "engine.saving": _FILES,
    "engine.topology": {
        **_NODES, **_FILES, **_MERGES, "Container": _NETWORK,
        "_is_all_none": "penstock.keras.utils.inner:is_all_none",
        "_object_list_uid": "penstock.keras.utils.inner:object_list_uid",
    },
    "backend": _BACKEND,
    "backend.tensorflow_backend": _TENSORFLOW_BACKEND,
    "layers": {**_LAYERS, **_RECURRENT, **_OLD_CONVOLUTIONS, **_RECURRENT_CONVOLUTIONS},
    "layers.core": _LAYERS,
    "layers.convolutional": {
        **_LAYERS, **_OLD_CONVOLUTIONS, **_CLASSES_OF_PADDING, "_Conv": f"{_INNER}:Conv",
    },
    "layers.convolutional_recurrent": {**_RECURRENT_CONVOLUTIONS, **_RECURRENT},
    "layers.wrappers": {"_object_list_uid": "penstock.keras.utils.inner:object_list_uid"},
    "layers.pooling": {
        "_GlobalPooling1D": f"{_INNER}:GlobalPooling1D",
        "_GlobalPooling2D": f"{_INNER}:GlobalPooling2D",
        "_Pooling2D": f"{_INNER}:Pooling2D",
    },
    "layers.recurrent": _RECURRENT,
    "layers.merge": {"_Merge": "penstock.keras.layers.merge:_Merge", **_LAYERS},
    "utils": {
        **_QUEUES,
        "convert_all_kernels_in_model": "penstock.keras.utils.inner:convert_all_kernels_in_model",
        "print_summary": "penstock.keras.utils.inner:print_summary",
    },
    "utils.data_utils": _QUEUES,
    "utils.generic_utils": {
        "transpose_shape": f"{_BACKEND_OF_KERAS}:transpose_shape",
        "func_dump": f"{_CODE}:func_dump",
        "func_load": f"{_CODE}:func_load",
    },
    "utils.io_utils": {
        "ask_to_proceed_with_overwrite": f"{_BACKEND_OF_KERAS}:ask_to_proceed_with_overwrite",
        "H5Dict": f"{_CODE}:H5Dict",
    },
    "wrappers.scikit_learn": {"BaseWrapper": "penstock.keras.wrappers.scikit_learn.estimators:BaseWrapper"},
    "callbacks": {"CallbackList": "penstock.keras.callbacks.base:CallbackList"},
    "datasets.cifar10": {"load_batch": "penstock.keras.datasets.python_batches:load_batch"},
    "datasets.cifar100": {"load_batch": "penstock.keras.datasets.python_batches:load_batch"},
    "datasets.imdb": _SEQUENCES,
    "datasets.reuters": _SEQUENCES,
    "preprocessing.sequence": _SEQUENCES,
    "regularizers": {"l1l2": "penstock.keras.regularizers:l1_l2", "activity_l1": "penstock.keras.regularizers:l1",
                     "activity_l2": "penstock.keras.regularizers:l2"},
    "applications": {
        name: f"penstock.programs.removed.keras_applications:{name}"
        for name in ("get_submodules_from_kwargs", "keras_modules_injection", "set_keras_submodules")
    },
    "applications.imagenet_utils": {
        "_obtain_input_shape": f"{_LEGACY}:obtain_input_shape",
        "get_submodules_from_kwargs": "penstock.programs.removed.keras_applications:get_submodules_from_kwargs",
    },
    "applications.mobilenet": {"relu6": f"{_LEGACY}:relu6", "DepthwiseConv2D": "penstock.keras.layers:DepthwiseConv2D"},
    "preprocessing.text": {"tokenizer_from_json": "penstock.keras.preprocessing.text.words:tokenizer_from_json",
                           "base_filter": f"{_LEGACY}:base_filter"},
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
    "legacy.models": {},
    "engine.training_utils": _PREPARING,
    "engine.training_generator": _GENERATORS,
    "engine.training_arrays": {},
    "datasets.cifar": {"load_batch": "penstock.keras.datasets.python_batches:load_batch"},
    "utils.test_utils": {
        "get_test_data": f"{_BACKEND_OF_KERAS}:get_test_data",
        "keras_test": "penstock.programs.removed.keras_testing:keras_test",
        "layer_test": "penstock.programs.removed.keras_testing:layer_test",
    },
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


VERSION = "2.2.5"
"""What `keras.__version__` is, the last for TensorFlow 1; programs compare its numbers, and tf.keras adds "-tf"."""


def is_given(path: str) -> bool:
    """Whether `import keras` has this module, or this name, which tf.keras lacks ("objectives", "backend.tf")."""
    module, _, name = path.rpartition(".")
    return path in MODULES or name in {**MODULES.get(module, {}), **NAMES.get(module, {}), **seen(module)}


def add_names(package: str) -> None:
    """Give the modules of `package`, and those that are no more, these names."""
    for path in MODULES:
        like = [importlib.import_module(f"{package}.{_LIKE[path]}")] if path in _LIKE else []
        module = add_module(f"{package}.{path}")
        if like:
            module.__class__ = type(like[0])
            vars(module)["_sources"] = vars(like[0])["_sources"]
    importlib.import_module(_LEGACY).add_interfaces(sys.modules[f"{package}.legacy.interfaces"])
    for path in {**MODULES, **NAMES, **SEEN}:
        module = importlib.import_module(f"{package}.{path}")
        own = {**MODULES.get(path, {}), **NAMES.get(path, {})}
        give(module, own, f"keras.{path}")
        give_quietly(module, seen(path))
        give_star(module, {**own, **seen(path)}, _sources(module))
    for path in ("backend", "backend.tensorflow_backend"):
        give_backend_arguments(sys.modules[f"{package}.{path}"])
    give_image_arguments(sys.modules[f"{package}.preprocessing.image"])
    vars(sys.modules[package])["__version__"] = VERSION
    # A module of the same name is an attribute already; it is imported from as before.
    vars(sys.modules[f"{package}.layers"]).pop("merge", None)


def _sources(module: ModuleType) -> list[str]:
    """The modules whose names it has, but for those of all of Keras."""
    found = [each if isinstance(each, str) else each.__name__ for each in vars(module).get("_sources", ())]
    return [name for name in found if name != "penstock.keras"]
