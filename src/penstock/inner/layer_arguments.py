"""Arguments of layers of one's own, as TensorFlow's read them (TF: tensorflow/python/layers/utils.py)."""

from __future__ import annotations

from typing import Any


def convert_data_format(data_format: str, ndim: int) -> str:
    """ "NHWC" and the like for "channels_last" and a rank of 3 to 5. Raises ValueError for others."""
    letters = {3: "W", 4: "HW", 5: "DHW"}.get(ndim)
    if letters is None:
        raise ValueError(f"Input rank not supported: {ndim}")
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"Invalid data_format: {data_format}")
    return f"N{letters}C" if data_format == "channels_last" else f"NC{letters}"


def normalize_tuple(value: Any, n: int, name: str) -> tuple[int, ...]:
    """`n` ints, or one int n times. Raises ValueError, naming the argument `name`, for anything else."""
    if isinstance(value, int):
        return (value,) * n
    try:
        found = tuple(value)
        numbers = tuple(int(each) for each in found)
    except (TypeError, ValueError):
        raise ValueError(f"The `{name}` argument must be a tuple of {n} integers. Received: {value}") from None
    if len(found) != n:
        raise ValueError(f"The `{name}` argument must be a tuple of {n} integers. Received: {value}")
    return numbers if numbers != found else found


def normalize_data_format(value: str) -> str:
    """ "channels_first" or "channels_last", in small letters. Raises ValueError for anything else."""
    return _one_of(value, "data_format", ("channels_first", "channels_last"))


def normalize_padding(value: str) -> str:
    """ "valid" or "same", in small letters. Raises ValueError for anything else."""
    return _one_of(value, "padding", ("valid", "same"))


def _one_of(value: str, name: str, known: tuple[str, ...]) -> str:
    found = value.lower()
    if found not in known:
        raise ValueError(f"The `{name}` argument must be one of {known}. Received: {value}")
    return found


def conv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """The size of a convolution's output. padding: "same", "valid" or "full"; None for an unknown size."""
    if input_length is None:
        return None
    reach = filter_size + (filter_size - 1) * (dilation - 1)
    more = {"same": 0, "valid": 1 - reach, "full": reach - 1}[padding]
    return (input_length + more + stride - 1) // stride


def conv_input_length(output_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """The size of a convolution's input, from that of its output."""
    if output_length is None:
        return None
    pad = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
    return (output_length - 1) * stride - 2 * pad + filter_size


def deconv_output_length(input_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """The size of a transposed convolution's output."""
    if input_length is None:
        return None
    more = {"same": 0, "valid": max(filter_size - stride, 0), "full": 2 - stride - filter_size}[padding]
    return input_length * stride + more
