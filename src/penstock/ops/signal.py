"""Frames, windows and spectra of signals, along the last axis (TF: tf.contrib.signal)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.constants import constant_value
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array import reshape, shape
from penstock.ops.cast import cast
from penstock.ops.fft import irfft, rfft
from penstock.ops.fft_cosine import dct
from penstock.ops.gather import gather
from penstock.ops.joining import concat
from penstock.ops.layout import transpose
from penstock.ops.matrix import matmul
from penstock.ops.padding import pad
from penstock.ops.sequences import linspace, range as range_
from penstock.tensor.dtypes import as_dtype, float32, int32

Window = Callable[..., Tensor]


def _number(value: Any, name: str) -> Any:
    """A size: an int where it is known while the graph is built, else an int32 scalar. Raises ValueError for an int
    that is not positive."""
    found = constant_value(value) if isinstance(value, Tensor) else value
    if found is None:
        return cast(reshape(value, []), int32)
    if int(found) < 1:
        raise ValueError(f"{name} must be a positive number, not {value!r}")
    return int(found)


def _last_size(x: Tensor, name: str) -> Any:
    """The size of the last dimension, as `_number` gives it. Raises ValueError for a scalar."""
    known = x.shape.with_rank_at_least(1)
    size = None if known.ndims is None else known[-1].value
    return _number(shape(x)[-1] if size is None else size, name)


def _static(size: Any) -> int | None:
    return size if isinstance(size, int) else None


def _greater(a: Any, b: Any) -> Any:
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else get_op("Maximum")(a, b)


def _indices(count: Any) -> Tensor:
    """0, 1, …, count - 1."""
    return constant(np.arange(count, dtype=np.int32)) if isinstance(count, int) else range_(count)


def _dims(*parts: Any) -> Any:
    """A shape from parts: vectors, ints and int32 scalars."""
    return concat([reshape(part, [-1]) for part in parts], 0)


# --- windows --------------------------------------------------------------------------------------------


def _raised_cosine(length: Any, periodic: bool, dtype: Any, a: float, b: float) -> Tensor:
    count = _number(length, "window_length")
    if isinstance(count, int):
        if count == 1:
            return constant([1.0], dtype)
        period = count - 1 + (periodic and count % 2 == 0)  # as in TensorFlow, odd windows are always symmetric
        window = a - b * np.cos(2 * math.pi * np.arange(count) / period)
        return constant(window.astype(as_dtype(dtype).as_numpy_dtype), dtype)
    samples = cast(get_op("Maximum")(count - count % 2 if periodic else count - 1, 1), dtype)
    cosine = get_op("Cos")(cast(range_(count), dtype) * (2 * math.pi / samples))
    return get_op("SelectV2")(get_op("Equal")(count, 1), get_op("OnesLike")(cosine), a - b * cosine)


@export("contrib.signal.hann_window", "signal.hann_window")
def hann_window(window_length: Any, periodic: bool = True, dtype: Any = float32, name: str | None = None) -> Tensor:
    """[window_length]: 1/2 - 1/2 cos (TF: tf.contrib.signal.hann_window)."""
    with name_scope(name, "hann_window"):
        return _raised_cosine(window_length, periodic, dtype, 0.5, 0.5)


@export("contrib.signal.hamming_window", "signal.hamming_window")
def hamming_window(window_length: Any, periodic: bool = True, dtype: Any = float32, name: str | None = None) -> Tensor:
    """[window_length]: 0.54 - 0.46 cos (TF: tf.contrib.signal.hamming_window)."""
    with name_scope(name, "hamming_window"):
        return _raised_cosine(window_length, periodic, dtype, 0.54, 0.46)


# --- frames ---------------------------------------------------------------------------------------------


@export("contrib.signal.frame", "signal.frame")
def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """[..., samples, ...] -> [..., frames, frame_length, ...]: parts of `axis` that begin every `frame_step` samples.

    With `pad_end` there is a frame at each step, filled up with `pad_value`; else only whole ones. TF:
    tf.contrib.signal.frame.
    """
    length, step = _number(frame_length, "frame_length"), _number(frame_step, "frame_step")
    with name_scope(name, "frame", [signal]):
        x = convert_to_tensor(signal, name="signal")
        if axis != -1 and (rank := x.shape.ndims) != axis + 1:
            if rank is None:
                raise ValueError("the rank of a signal that is framed along another axis than the last must be known")
            place = axis % rank
            last = transpose(x, [*range(place), *range(place + 1, rank), place])
            found = frame(last, length, step, pad_end, pad_value)
            return transpose(found, [*range(place), rank - 1, rank, *range(place, rank - 1)])
        outer = x.shape.with_rank_at_least(1)[:-1]
        samples = shape(x)[-1] if x.shape[-1].value is None else x.shape[-1].value
        if pad_end:
            frames = (samples + step - 1) // step
            missing = _greater(0, (frames - 1) * step + length - samples)
            filled = get_op("Fill")(_dims(shape(x)[:-1], missing), cast(pad_value, x.dtype))
            x = concat([x, filled], -1)
        else:
            frames = _greater(0, 1 + (samples - length) // step)
        starts = range_(frames) * step
        found = gather(x, reshape(starts, [-1, 1]) + _indices(length), axis=-1)
        found.set_shape(outer.concatenate([_static(frames), _static(length)]))
        return found


@export("contrib.signal.overlap_and_add", "signal.overlap_and_add")
def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Tensor:
    """[..., frames, frame_length] -> [..., samples]: frames in their places, added up (TF: overlap_and_add)."""
    step = _number(frame_step, "frame_step")
    with name_scope(name, "overlap_and_add", [signal]):
        x = convert_to_tensor(signal, name="signal")
        x.shape.with_rank_at_least(2)
        length = _last_size(x, "the length of a frame")
        sizes = shape(x)
        frames = sizes[-2]
        samples = (frames - 1) * step + length
        index = reshape(range_(frames) * step, [-1, 1]) + _indices(length)
        rows = get_op("Transpose")(reshape(x, _dims([-1], frames * length)), [1, 0])
        added = get_op("UnsortedSegmentSum")(rows, reshape(index, [-1]), samples)
        found = reshape(get_op("Transpose")(added, [1, 0]), _dims(sizes[:-2], samples))
        if x.shape.ndims is not None:
            count = x.shape[-2].value
            found.set_shape(x.shape[:-2].concatenate([None if count is None else _static((count - 1) * step + length)]))
        return found


# --- spectra --------------------------------------------------------------------------------------------


def _fft_length(given: Any, length: Any) -> Any:
    """The length that is given, or else the next power of two."""
    if given is not None:
        return _number(given, "fft_length")
    if isinstance(length, int):
        return 1 << (length - 1).bit_length()
    powers = constant(2 ** np.arange(31, dtype=np.int32))
    return get_op("Min")(get_op("SelectV2")(powers >= length, powers, 2**30), [0])


@export("contrib.signal.stft", "signal.stft")
def stft(
    signals: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Window | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """[..., samples] floats -> [..., frames, fft_length / 2 + 1] complex: spectra of windowed frames.

    fft_length: the next power of two by default. TF: tf.contrib.signal.stft.
    """
    with name_scope(name, "stft", [signals]):
        x = convert_to_tensor(signals, name="signals")
        length = _number(frame_length, "frame_length")
        framed = frame(x, length, frame_step, pad_end=pad_end)
        if window_fn is not None:
            framed = framed * window_fn(length, dtype=framed.dtype)
        return rfft(framed, [_fft_length(fft_length, length)])


@export("contrib.signal.inverse_stft", "signal.inverse_stft")
def inverse_stft(
    stfts: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Window | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """[..., frames, fft_length / 2 + 1] -> [..., samples]: windowed frames of the spectra, added up.

    It inverts `stft` with window_fn=inverse_stft_window_fn(frame_step). TF: tf.contrib.signal.inverse_stft.
    """
    with name_scope(name, "inverse_stft", [stfts]):
        x = convert_to_tensor(stfts, name="stfts")
        length = _number(frame_length, "frame_length")
        size = _fft_length(fft_length, length)
        frames = irfft(x, [size])
        more = _greater(0, length - size)
        if not isinstance(more, int) or more:
            zeros = get_op("Fill")(_dims(shape(frames)[:-1], more), cast(0.0, frames.dtype))
            frames = concat([frames, zeros], -1)
        frames = frames[..., :length]
        frames.set_shape(x.shape[:-1].concatenate([_static(length)]))
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return overlap_and_add(frames, frame_step)


@export("contrib.signal.inverse_stft_window_fn", "signal.inverse_stft_window_fn")
def inverse_stft_window_fn(frame_step: Any, forward_window_fn: Window = hann_window, name: str | None = None) -> Window:
    """The window with which `inverse_stft` gives back what `stft` had with `forward_window_fn`."""
    step = _number(frame_step, "frame_step")

    def window(frame_length: Any, dtype: Any = float32) -> Tensor:
        with name_scope(name, "inverse_stft_window_fn"):
            length = _number(frame_length, "frame_length")
            forward = forward_window_fn(length, dtype=dtype)
            overlaps = -(-length // step)
            zeros = get_op("Fill")(_dims(overlaps * step - length), cast(0.0, dtype))
            squares = reshape(concat([forward * forward, zeros], 0), _dims(overlaps, step))
            weight = get_op("Tile")(get_op("Sum")(squares, [0], keep_dims=True), _dims(overlaps, 1))
            return forward / reshape(weight, [-1])[:length]

    return window


@export("contrib.signal.linear_to_mel_weight_matrix", "signal.linear_to_mel_weight_matrix")
def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: Any = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: Any = float32,
    name: str | None = None,
) -> Tensor:
    """[num_spectrogram_bins, num_mel_bins]: triangles of equal width in mel, by which a spectrogram is multiplied.

    num_spectrogram_bins, sample_rate: numbers or scalar tensors. Raises ValueError for edges that are not
    0 <= lower < upper <= sample_rate / 2. TF: tf.contrib.signal.linear_to_mel_weight_matrix.
    """
    rate = constant_value(sample_rate) if isinstance(sample_rate, Tensor) else sample_rate
    if not 0 <= lower_edge_hertz < upper_edge_hertz or (rate is not None and upper_edge_hertz > rate / 2):
        raise ValueError(
            f"0 <= lower_edge_hertz < upper_edge_hertz <= sample_rate / 2 must hold, but they are {lower_edge_hertz}, "
            f"{upper_edge_hertz} and {'unknown' if rate is None else rate / 2}"
        )
    edges = np.linspace(_mel(lower_edge_hertz), _mel(upper_edge_hertz), num_mel_bins + 2)
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    with name_scope(name, "linear_to_mel_weight_matrix"):
        count = _number(num_spectrogram_bins, "num_spectrogram_bins")
        if rate is not None and isinstance(count, int):
            bins = _mel(np.linspace(0.0, float(rate) / 2, count))[:, None]
            weights = np.maximum(0.0, np.minimum((bins - low) / (middle - low), (high - bins) / (high - middle)))
            weights[0] = 0.0  # the mean of the signal belongs to no band
            return constant(weights.astype(as_dtype(dtype).as_numpy_dtype), dtype)
        hertz = linspace(cast(0.0, dtype), cast(sample_rate, dtype) / 2.0, count)[1:]
        mel = reshape(get_op("Log1p")(hertz / 700.0) * 1127.0, [-1, 1])
        up, down = (mel - low) / (middle - low), (high - mel) / (high - middle)
        return pad(get_op("Maximum")(get_op("Minimum")(up, down), cast(0.0, dtype)), [[1, 0], [0, 0]])


def _mel(hertz: Any) -> Any:
    return 1127.0 * np.log1p(np.asarray(hertz) / 700.0)


@export("contrib.signal.mfccs_from_log_mel_spectrograms", "signal.mfccs_from_log_mel_spectrograms")
def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Tensor:
    """[..., bins] -> [..., bins]: their cosine transform (DCT-II, as in HTK), over sqrt(2 bins).

    TF: tf.contrib.signal.mfccs_from_log_mel_spectrograms.
    """
    with name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        x = convert_to_tensor(log_mel_spectrograms, name="log_mel_spectrograms")
        bins = _last_size(x, "the number of bins")
        if not isinstance(bins, int):
            return dct(x) * get_op("Rsqrt")(cast(2 * bins, x.dtype))
        at = np.arange(bins)
        matrix = 2 * np.cos(math.pi * np.outer(2 * at + 1, at) / (2 * bins)) / math.sqrt(2 * bins)
        rows = matmul(reshape(x, [-1, bins]), constant(matrix.astype(x.dtype.as_numpy_dtype)))
        found = reshape(rows, shape(x))
        found.set_shape(x.shape)
        return found
