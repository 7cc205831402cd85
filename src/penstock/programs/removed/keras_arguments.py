"""Arguments that layers and models of Keras had until 2.0, which took them until 2.3.

Facts from Keras' release notes of 2.0, and from what 2.x made of them (`keras.legacy.interfaces`).
"""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any

from penstock.programs.removed.giving import rename_keywords
from penstock.programs.report import REPORT

Keywords = dict[str, str | None]
"""The names of arguments now, by those of then; None: it is left out."""

_WEIGHTS: Keywords = {
    "init": "kernel_initializer",
    "W_regularizer": "kernel_regularizer",
    "b_regularizer": "bias_regularizer",
    "W_constraint": "kernel_constraint",
    "b_constraint": "bias_constraint",
    "bias": "use_bias",
}
_RECURRENT: Keywords = {
    "output_dim": "units",
    "init": "kernel_initializer",
    "inner_init": "recurrent_initializer",
    "inner_activation": "recurrent_activation",
    "W_regularizer": "kernel_regularizer",
    "U_regularizer": "recurrent_regularizer",
    "b_regularizer": "bias_regularizer",
    "dropout_W": "dropout",
    "dropout_U": "recurrent_dropout",
    "consume_less": None,
    "forget_bias_init": None,  # "one", which is the default
}
_FORMAT: Keywords = {"dim_ordering": "data_format"}
_IMAGES: Keywords = {"border_mode": "padding", **_FORMAT}
_RATE: Keywords = {"p": "rate"}
_CONVOLUTION: Keywords = {"nb_filter": "filters", "subsample": "strides", **_WEIGHTS, **_IMAGES}
_POOLING_1D: Keywords = {"pool_length": "pool_size", "stride": "strides", **_IMAGES}

LAYERS: dict[str, Keywords] = {
    "Dense": {"output_dim": "units", **_WEIGHTS},
    "Embedding": {
        "init": "embeddings_initializer",
        "W_regularizer": "embeddings_regularizer",
        "W_constraint": "embeddings_constraint",
        "dropout": None,
    },
    **dict.fromkeys(("LSTM", "GRU", "SimpleRNN"), _RECURRENT),
    "Conv1D": {"filter_length": "kernel_size", "subsample_length": "strides", **_CONVOLUTION},
    **dict.fromkeys(("Conv2D", "Conv3D"), _CONVOLUTION),
    "Conv2DTranspose": {"output_shape": None, **_CONVOLUTION},
    **dict.fromkeys(("MaxPooling1D", "AveragePooling1D"), _POOLING_1D),
    **dict.fromkeys(("MaxPooling2D", "AveragePooling2D", "MaxPooling3D", "AveragePooling3D"), _IMAGES),
    **dict.fromkeys(("ZeroPadding2D", "Cropping2D", "UpSampling2D"), _FORMAT),
    **dict.fromkeys(("GlobalMaxPooling2D", "GlobalAveragePooling2D"), _FORMAT),
    "UpSampling1D": {"length": "size"},
    "BatchNormalization": {"beta_init": "beta_initializer", "gamma_init": "gamma_initializer", "mode": None},
    **dict.fromkeys(("Dropout", "SpatialDropout1D", "SpatialDropout2D", "GaussianDropout"), _RATE),
    "GaussianNoise": {"sigma": "stddev"},
}

KERNELS = {"Conv2D": 2, "Conv2DTranspose": 2, "Conv3D": 3}
"""Layers that took each size of the kernel as an argument of its own, and how many."""
SIZES = ("nb_row", "nb_col"), ("kernel_dim1", "kernel_dim2", "kernel_dim3")
FORMATS = {"th": "channels_first", "tf": "channels_last", "default": None}

_SAMPLES: Keywords = {
    "image_shape": None,
    "volume_shape": None,
    "filter_shape": None,
    "filter_dilation": "dilation_rate",
}
_CONVOLVE: Keywords = {**_IMAGES, **_SAMPLES}
BACKEND: dict[str, Keywords] = {
    "random_normal": {"std": "stddev"},
    "random_uniform": {"low": "minval", "high": "maxval"},
    "conv1d": {"border_mode": "padding", "stride": "strides", **_SAMPLES},
    **dict.fromkeys(("conv2d", "conv3d", "conv2d_transpose", "separable_conv2d"), _CONVOLVE),
    **dict.fromkeys(("pool2d", "pool3d"), _IMAGES),
    **dict.fromkeys(("resize_images", "resize_volumes", "spatial_2d_padding", "bias_add"), _FORMAT),
}
"""Functions of the backend that took other keywords in Keras 1, which 2.0 did not take any more."""

MODEL: Keywords = {"input": "inputs", "output": "outputs"}
_STEPS: Keywords = {"val_samples": "steps", "max_q_size": "max_queue_size"}
METHODS: dict[str, Keywords] = {
    "fit_generator": {
        "samples_per_epoch": "steps_per_epoch",
        "nb_epoch": "epochs",
        "nb_val_samples": "validation_steps",
        "max_q_size": "max_queue_size",
        "nb_worker": "workers",
        "pickle_safe": "use_multiprocessing",
    },
    **dict.fromkeys(("evaluate_generator", "predict_generator"), _STEPS),
}


def give_arguments(keras: Any) -> None:
    for name, keywords in LAYERS.items():
        layer = getattr(keras.layers, name)
        _take_then(layer, name, KERNELS.get(name, 0), keywords)
        rename_keywords(layer, "__init__", keywords, name)
    rename_keywords(keras.Model, "__init__", MODEL, "Model")
    for name, keywords in METHODS.items():
        rename_keywords(keras.Model, name, keywords)


def give_backend_arguments(backend: Any) -> None:
    """On the module that programs see: Penstock's own calls stay as they are."""
    for name, keywords in BACKEND.items():
        setattr(backend, name, _with_formats(getattr(backend, name)))
        rename_keywords(backend, name, keywords, f"K.{name}")


def give_image_arguments(image: Any) -> None:
    """On the module that programs see, and the class of generators: formats of images by their names in Keras 1."""
    for owner, name in ((image.ImageDataGenerator, "__init__"), (image, "img_to_array"), (image, "array_to_img")):
        label = "ImageDataGenerator" if name == "__init__" else name
        setattr(owner, name, _with_formats(getattr(owner, name)))
        rename_keywords(owner, name, _FORMAT, label)


def _name_as_now(options: dict[str, Any]) -> None:
    """Gives a format of images among the keywords its name of today."""
    if options.get("data_format") in FORMATS:
        options["data_format"] = FORMATS[options["data_format"]]


def _with_formats(function: Any) -> Any:
    """Takes "th" and "tf" for formats of images."""

    @functools.wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        _name_as_now(options)
        return function(*args, **options)

    return called


def _take_then(layer: Any, name: str, sizes: int, keywords: Keywords) -> None:
    """Values of then, too: sizes of a kernel as `sizes` arguments, names of formats."""
    make = layer.__init__

    @functools.wraps(make)
    def made(self: Any, *args: Any, **options: Any) -> None:
        kernel = _kernel_of(args, options, sizes)
        if kernel is not None:
            REPORT.use(f"{name}(filters, {', '.join(['size'] * sizes)})", sys._getframe(2))  # of who called `renamed`
            args, options = args[:1], {**options, "kernel_size": kernel}
        _name_as_now(options)
        if type(self) is layer:
            self._describe(args, options)
        else:
            _describe_as_now(self, keywords)
        make(self, *args, **options)

    layer.__init__ = made


def _describe_as_now(layer: Any, keywords: Keywords) -> None:
    """What a program's own class was given for Keras's, which it passes on, is described by the names of now, too."""
    own = inspect.signature(type(layer).__init__).parameters
    given: dict[str | None, Any] = {
        key if key in own else keywords.get(key, key): value for key, value in layer._arguments.items()
    }
    given.pop(None, None)
    layer._arguments = given


def _kernel_of(args: tuple[Any, ...], options: dict[str, Any], sizes: int) -> tuple[int, ...] | None:
    """Also takes them out of `options`."""
    given = args[1 : 1 + sizes]
    if sizes and len(given) == sizes and all(isinstance(size, int) for size in given):
        return given
    for names in SIZES:
        if sizes == len(names) and options.keys() >= {*names}:
            return tuple(options.pop(name) for name in names)
    return None
