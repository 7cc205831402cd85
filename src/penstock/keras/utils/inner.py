"""Functions of Keras's inner modules that layers outside it call: `keras.utils.conv_utils`, `generic_utils`.

Facts from TensorFlow 1.15 and Keras 2.2.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from penstock.keras import backend as K
from penstock.keras.backend.settings import check_data_format

_PADDINGS = ("valid", "same", "causal", "full")


def normalize_tuple(value: Any, n: int, name: str) -> tuple[int, ...]:
    """`n` whole numbers, from one or from as many. Raises ValueError for anything else."""
    if isinstance(value, int):
        return (value,) * n
    try:
        found = tuple(int(each) for each in value)
    except (TypeError, ValueError):
        found = ()
    if len(found) != n:
        raise ValueError(f"The `{name}` argument must be a tuple of {n} integers. Received: {value}")
    return found


def normalize_padding(value: Any) -> Any:
    """The name of a padding in lower case. Raises ValueError for others."""
    if isinstance(value, list | tuple):
        return value
    padding = value.lower()
    if padding not in ("valid", "same", "causal"):
        raise ValueError(f'The `padding` argument must be a list/tuple or one of "valid", "same". Received: {padding}')
    return padding


normalize_data_format = check_data_format


def conv_output_length(input_length: Any, filter_size: int, padding: str, stride: int, dilation: int = 1) -> Any:
    """How long the result of a convolution is; None if it is not known how long the input is."""
    if input_length is None:
        return None
    assert padding in _PADDINGS
    reach = filter_size + (filter_size - 1) * (dilation - 1)
    more = {"valid": 1 - reach, "full": reach - 1}.get(padding, 0)
    return (input_length + more + stride - 1) // stride


def conv_input_length(output_length: Any, filter_size: int, padding: str, stride: int) -> Any:
    """How long the input of a convolution is at most, by the length of its result."""
    if output_length is None:
        return None
    assert padding in ("same", "valid", "full")
    pad = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
    return (output_length - 1) * stride - 2 * pad + filter_size


def deconv_output_length(
    input_length: Any, filter_size: int, padding: str, output_padding: Any = None, stride: int = 0, dilation: int = 1
) -> Any:
    """How long the result of a transposed convolution is."""
    assert padding in ("same", "valid", "full")
    if input_length is None:
        return None
    reach = filter_size + (filter_size - 1) * (dilation - 1)
    if output_padding is not None:
        pad = {"same": reach // 2, "valid": 0, "full": reach - 1}[padding]
        return (input_length - 1) * stride + reach - 2 * pad + output_padding
    more = {"valid": max(reach - stride, 0), "full": -(stride + reach - 2), "same": 0}[padding]
    return input_length * stride + more


def deconv_length(
    dim_size: Any, stride_size: int, kernel_size: int, padding: str, output_padding: Any = None, dilation: int = 1
) -> Any:
    """`deconv_output_length` with Keras's order of arguments."""
    return deconv_output_length(dim_size, kernel_size, padding, output_padding, stride_size, dilation)


def convert_kernel(kernel: Any) -> np.ndarray:
    """The kernel of a convolution turned by 180 degrees: from Theano's to TensorFlow's and back."""
    kernel = np.asarray(kernel)
    if not 3 <= kernel.ndim <= 5:
        raise ValueError(f"Invalid kernel shape: {kernel.shape}")
    return np.copy(kernel[(slice(None, None, -1),) * (kernel.ndim - 2)])


def convert_all_kernels_in_model(model: Any) -> None:
    """`convert_kernel` for the kernels of all convolutions of a model."""
    kernels = [layer.kernel for layer in model.layers if type(layer).__name__ in _CONVOLUTIONS]
    K.batch_set_value([(kernel, convert_kernel(K.get_value(kernel))) for kernel in kernels])


_CONVOLUTIONS = ("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose")


def convert_dense_weights_data_format(dense: Any, previous_feature_map_shape: Any, target_data_format: str) -> None:
    """Reorder the rows of a Dense layer that follows a Flatten, for images of the other layout.

    previous_feature_map_shape: the sizes of the images in `target_data_format`; the rows are now in the other layout.
    """
    assert target_data_format in ("channels_last", "channels_first")
    if target_data_format == "channels_first":
        channels, height, width = previous_feature_map_shape
        rows = np.arange(channels * height * width).reshape(height, width, channels).transpose(2, 0, 1)
    else:
        height, width, channels = previous_feature_map_shape
        rows = np.arange(channels * height * width).reshape(channels, height, width).transpose(1, 2, 0)
    kernel, bias = dense.get_weights()
    dense.set_weights([kernel[rows.ravel()], bias])


# --- generic_utils --------------------------------------------------------------------------------------


def to_list(x: Any, allow_tuple: bool = False) -> list[Any]:
    """A list of `x`, unless it is one."""
    return x if isinstance(x, list) else list(x) if allow_tuple and isinstance(x, tuple) else [x]


def unpack_singleton(x: Any) -> Any:
    """The only element of a list or tuple, or `x`."""
    return x[0] if isinstance(x, list | tuple) and len(x) == 1 else x


def has_arg(fn: Any, name: str, accept_all: bool = False) -> bool:
    """Whether a function takes an argument of that name, or with `accept_all` any."""
    parameters = inspect.signature(fn).parameters
    if accept_all and any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return True
    return name in parameters and parameters[name].kind in (
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.KEYWORD_ONLY,
    )


def is_all_none(iterable_or_element: Any) -> bool:
    """Whether there is nothing but None."""
    elements = iterable_or_element if isinstance(iterable_or_element, list | tuple) else [iterable_or_element]
    return all(element is None for element in elements)


def object_list_uid(object_list: Any) -> str:
    """A text that identifies a list of objects."""
    return ", ".join(str(abs(id(each))) for each in to_list(object_list, allow_tuple=True))


def slice_arrays(arrays: Any, start: Any = None, stop: Any = None) -> Any:
    """Rows of an array, or of each in a list; `start` may be a list of their numbers."""
    if arrays is None:
        return [None]
    several = isinstance(arrays, list)
    if hasattr(start, "__len__"):
        rows: Any = start.tolist() if hasattr(start, "tolist") else list(start)
    else:
        rows = slice(start, stop)
    found = [None if array is None else array[rows] for array in (arrays if several else [arrays])]
    return found if several else found[0]


def count_params(weights: Any) -> int:
    """How many numbers these variables are, each variable once."""
    return int(sum(K.count_params(weight) for weight in {id(weight): weight for weight in weights}.values()))


def print_summary(model: Any, line_length: Any = None, positions: Any = None, print_fn: Any = None) -> None:
    """`model.summary`."""
    model.summary(line_length, positions, print_fn)
