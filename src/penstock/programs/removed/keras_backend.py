"""Functions of `keras.backend` and `keras.backend.tensorflow_backend` that tf.keras has not, or has elsewhere.

Layers of programs call them. Facts from Keras 2.2 (`keras.backend.tensorflow_backend`).
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

import penstock as tf
from penstock.contrib.framework.checks import is_tensor as is_tensor
from penstock.keras import backend as K
from penstock.keras.backend.settings import check_data_format

py_all, py_any, py_sum, py_slice = builtins.all, builtins.any, builtins.sum, builtins.slice

_LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def slice(x: Any, start: Any, size: Any) -> Any:
    """Part of a tensor, from `start` on, of that size."""
    return tf.slice(x, start, size)


def get_variable_shape(x: Any) -> Any:
    """The sizes of a variable's dims."""
    return K.int_shape(x)


def initialize_variables() -> None:
    """Give variables that have no value yet their initial ones."""
    K.get_session()


def convert_string_dtype(dtype: str) -> Any:
    """The type of that name."""
    return tf.as_dtype(dtype)


# --- devices --------------------------------------------------------------------------------------------


def get_available_gpus() -> list[str]:
    """The names of the GPUs."""
    with tf.Session() as session:
        return [each.name for each in session.list_devices() if each.device_type == "GPU"]


def has_nchw_support() -> bool:
    """Whether images [n, c, h, w] need not be transposed; they never do here."""
    return True


def is_current_explicit_device(device_type: str) -> bool:
    """Whether what is made now is for that kind of device ("CPU", "GPU")."""
    if device_type not in ("CPU", "GPU"):
        raise ValueError('device_type should be either "CPU" or "GPU".')
    with tf.name_scope(None):
        device = tf.no_op().device
    return f"/{device_type.lower()}:" in device.lower() or f":{device_type.lower()}:" in device.lower()


# --- layouts --------------------------------------------------------------------------------------------


def preprocess_padding(padding: str) -> str:
    """TensorFlow's word for it."""
    if padding not in ("same", "valid"):
        raise ValueError(f"Invalid padding: {padding}")
    return padding.upper()


def preprocess_conv1d_input(x: Any, data_format: str) -> tuple[Any, str]:
    """A tensor and TensorFlow's word for its layout."""
    return x, _layout(data_format, 1)


def preprocess_conv2d_input(x: Any, data_format: str, force_transpose: bool = False) -> tuple[Any, str]:
    """Images, and TensorFlow's word for their layout; force_transpose: as [n, h, w, c]."""
    if force_transpose and data_format == "channels_first":
        return tf.transpose(x, (0, 2, 3, 1)), "NHWC"
    return x, _layout(data_format, 2)


def preprocess_conv3d_input(x: Any, data_format: str) -> tuple[Any, str]:
    """Volumes, and TensorFlow's word for their layout."""
    return x, _layout(data_format, 3)


def postprocess_conv2d_output(x: Any, data_format: str) -> Any:
    """Images [n, h, w, c] in the layout that is asked for."""
    return tf.transpose(x, (0, 3, 1, 2)) if data_format == "channels_first" else x


def postprocess_conv3d_output(x: Any, data_format: str) -> Any:
    """Volumes [n, d, h, w, c] in the layout that is asked for."""
    return tf.transpose(x, (0, 4, 1, 2, 3)) if data_format == "channels_first" else x


def _layout(data_format: Any, rank: int) -> str:
    return _LAYOUTS[rank][check_data_format(data_format) == "channels_first"]


# --- convolutions ---------------------------------------------------------------------------------------


def conv3d_transpose(
    x: Any, kernel: Any, output_shape: Any, strides: Any = (1, 1, 1), padding: str = "valid", data_format: Any = None
) -> Any:
    """The gradient of a convolution of volumes: kernel [d, h, w, filters, c], results of `output_shape`."""
    layout = _layout(data_format, 3)
    if isinstance(output_shape, list | tuple):
        output_shape = tf.stack([tf.shape(x)[0] if output_shape[0] is None else output_shape[0], *output_shape[1:]])
    steps = [1, 1, *strides] if layout[1] == "C" else [1, *strides, 1]
    return tf.nn.conv3d_transpose(x, kernel, output_shape, steps, preprocess_padding(padding), layout)


def separable_conv1d(
    x: Any, depthwise_kernel: Any, pointwise_kernel: Any, strides: Any = 1, padding: str = "valid",
    data_format: Any = None, dilation_rate: Any = 1,
) -> Any:  # fmt: skip
    """Each channel of [n, w, c] convolved by itself, then a mix of the channels."""
    stride, dilation = (n if isinstance(n, int) else n[0] for n in (strides, dilation_rate))
    axis = 2 if check_data_format(data_format) == "channels_first" else 1
    wide = K.separable_conv2d(
        tf.expand_dims(x, axis), tf.expand_dims(depthwise_kernel, 0), tf.expand_dims(pointwise_kernel, 0),
        (stride, stride), padding, data_format, (1, dilation),
    )  # fmt: skip
    return tf.squeeze(wide, [axis])


# --- normalization --------------------------------------------------------------------------------------


def regular_normalize_batch_in_training(
    x: Any, gamma: Any, beta: Any, reduction_axes: Any, epsilon: float = 1e-3
) -> tuple[Any, Any, Any]:
    """x normalized over the axes, their mean and their variance."""
    mean, var = tf.nn.moments(x, list(reduction_axes))
    return tf.nn.batch_normalization(x, mean, var, beta, gamma, epsilon), mean, var


# --- of layers ------------------------------------------------------------------------------------------


def generate_dropout_mask(ones: Any, rate: float, training: Any = None, count: int = 1) -> Any:
    """What cells multiply their inputs by: ones of which some are dropped while training, or a list of such."""
    masks = [K.in_train_phase(lambda: K.dropout(ones, rate), ones, training=training) for _ in range(count)]
    return masks if count > 1 else masks[0]


def standardize_args(inputs: Any, initial_state: Any, constants: Any, num_constants: Any) -> tuple[Any, Any, Any]:
    """A recurrent layer's inputs, states and constants, that may all be in the list of its inputs."""
    if isinstance(inputs, list):
        assert initial_state is None and constants is None
        if num_constants:
            inputs, constants = inputs[:-num_constants], inputs[-num_constants:]
        inputs, *states = inputs
        initial_state = states or None
    found = (None if x is None else list(x) if isinstance(x, list | tuple) else [x] for x in (initial_state, constants))
    return (inputs, *found)


def transpose_shape(shape: Any, target_format: str, spatial_axes: Any) -> Any:
    """A shape with the channels last, in the layout that is asked for."""
    if target_format == "channels_last":
        return shape
    if target_format != "channels_first":
        raise ValueError(
            f'The `data_format` argument must be one of "channels_first", "channels_last". Received: {target_format}'
        )
    found = [*shape[: spatial_axes[0]], shape[-1], *(shape[axis] for axis in spatial_axes)]
    return found if isinstance(shape, list) else tuple(found)


def remove_long_seq(maxlen: int, seq: Any, label: Any) -> tuple[list[Any], list[Any]]:
    """The sequences that are shorter than that, and their labels."""
    kept = [(x, y) for x, y in zip(seq, label, strict=False) if len(x) < maxlen]
    return [x for x, _ in kept], [y for _, y in kept]


def ask_to_proceed_with_overwrite(filepath: Any) -> bool:
    """Ask on the terminal whether a file is to be overwritten."""
    answer = ""
    while answer not in ("y", "n"):
        answer = input(f"[WARNING] {filepath} already exists - overwrite? [y/n]").strip().lower()
    return answer == "y"


def get_test_data(
    num_train: int = 1000, num_test: int = 500, input_shape: Any = (10,), output_shape: Any = (2,),
    classification: bool = True, num_classes: int = 2,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:  # fmt: skip
    """Data that a model can learn: normal numbers about the label, for training and for testing."""
    count = num_train + num_test
    if classification:
        y: Any = np.random.randint(0, num_classes, size=(count,))
        where = y
    else:
        where = np.random.random((count,))
        y = np.zeros((count, *output_shape), np.float32)
    x = np.zeros((count, *input_shape), np.float32)
    for i in range(count):
        x[i] = np.random.normal(loc=where[i], scale=0.7, size=input_shape)
        if not classification:
            y[i] = np.random.normal(loc=where[i], scale=0.7, size=output_shape)
    return (x[:num_train], y[:num_train]), (x[num_train:], y[num_train:])
