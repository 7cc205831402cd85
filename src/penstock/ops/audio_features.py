"""Spectrograms and mel-frequency cepstral coefficients of sounds in one op each (TF: AudioSpectrogram, Mfcc).

TensorFlow has them as `audio_spectrogram` and `mfcc` of contrib.framework.python.ops.audio_ops and of gen_audio_ops.
"""

from __future__ import annotations

import numpy as np
import torch

from penstock.graph.opdef import Kernel, define_op
from penstock.graph.shape_context import ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

Array = np.ndarray

AUDIO_SPECTROGRAM = define_op(
    "AudioSpectrogram",
    "input: float",
    "spectrogram: float",
    attrs=["window_size: int", "stride: int", "magnitude_squared: bool = false"],
    work=SERIAL,
)
AUDIO_SPECTROGRAM.not_differentiable()
MFCC = define_op(
    "Mfcc",
    "spectrogram: float, sample_rate: int32",
    "output: float",
    attrs=[
        "upper_frequency_limit: float = 4000.0",
        "lower_frequency_limit: float = 20.0",
        "filterbank_channel_count: int = 40",
        "dct_coefficient_count: int = 13",
    ],
    work=SERIAL,
)
MFCC.not_differentiable()

_LEAST = 1e-12
"""The least energy of a channel, of which there is a logarithm."""

# --- spectrograms ---------------------------------------------------------------------------------------


def _steps(samples: int, window: int, stride: int) -> int:
    return 0 if samples < window else 1 + (samples - window) // stride


def _length(window: int) -> int:
    """Of the Fourier transform of a window: the next power of two."""
    return 1 << (window - 1).bit_length()


@AUDIO_SPECTROGRAM.shape
def audio_spectrogram_shape(c: ShapeContext, sound: TensorShape) -> TensorShape:
    samples, channels = sound.with_rank(2).as_list()
    window, stride = c.attrs["window_size"], c.attrs["stride"]
    if window < 2 or stride < 1:
        raise ValueError(f"window_size must be at least 2, and stride positive; they are {window} and {stride}")
    steps = None if samples is None else _steps(samples, window, stride)
    return TensorShape([channels, steps, 1 + _length(window) // 2])


@AUDIO_SPECTROGRAM.kernel("CPU")
def audio_spectrogram_kernel(ctx: KernelContext) -> Kernel:
    """Windows of Hann, computed in double precision."""
    window, stride, squared = ctx["window_size"], ctx["stride"], ctx["magnitude_squared"]
    weights = 0.5 - 0.5 * np.cos(2 * np.pi / window * np.arange(window))
    length = _length(window)

    def spectrogram(sound: torch.Tensor) -> torch.Tensor:
        if sound.ndim != 2:
            raise invalid(f"input must be 2-dimensional, not of shape {list(sound.shape)}")
        samples, channels = sound.shape
        steps = _steps(samples, window, stride)
        found = np.empty((channels, steps, 1 + length // 2), np.float32)
        if steps:
            waves = np.ascontiguousarray(sound.numpy().T, np.float64)
            frames = np.lib.stride_tricks.sliding_window_view(waves, window, 1)[:, ::stride][:, :steps]
            parts = np.fft.rfft(frames * weights, length)
            found[:] = parts.real**2 + parts.imag**2
        return torch.from_numpy(found if squared else np.sqrt(found))

    return spectrogram


# --- coefficients ---------------------------------------------------------------------------------------


@MFCC.shape
def mfcc_shape(c: ShapeContext, spectrogram: TensorShape, sample_rate: TensorShape) -> TensorShape:
    sample_rate.assert_has_rank(0)
    return TensorShape([*spectrogram.with_rank(3).as_list()[:2], c.attrs["dct_coefficient_count"]])


def _mel(frequency: Array | float) -> Array:
    return np.asarray(1127.0 * np.log1p(np.asarray(frequency, np.float64) / 700.0))


def mel_weights(bins: int, rate: int, channels: int, lowest: float, highest: float) -> Array:
    """What each bin of a spectrum gives to each channel, [bins, channels]: triangles between the channels' centres,
    which are equally far apart in mel."""
    low, high = float(_mel(lowest)), float(_mel(highest))
    edges = low + (high - low) / (channels + 1) * np.arange(channels + 2)
    width = 0.5 * rate / (bins - 1)
    first, last = int(1.5 + lowest / width), int(highest / width)
    if last >= bins:
        raise invalid(f"upper_frequency_limit {highest} is above half of the sample rate, {rate}")
    mel = _mel(np.arange(bins) * width)
    above = np.clip(np.searchsorted(edges[1:], mel, "left"), 0, channels)  # the channel whose centre is above, or all
    falling = (edges[above + 1] - mel) / (edges[above + 1] - edges[above])
    found = np.zeros((bins, channels))
    for i in range(first, last + 1):
        if above[i] > 0:
            found[i, above[i] - 1] += falling[i]
        if above[i] < channels:
            found[i, above[i]] += 1 - falling[i]
    return found


def _cosines(channels: int, count: int) -> Array:
    phases = np.outer(np.arange(channels) + 0.5, np.arange(count)) * (np.pi / channels)
    return np.sqrt(2.0 / channels) * np.cos(phases)


@MFCC.kernel("CPU", host=["sample_rate"])
def mfcc_kernel(ctx: KernelContext) -> Kernel:
    """Takes a spectrogram of squared magnitudes."""
    channels, count = ctx["filterbank_channel_count"], ctx["dct_coefficient_count"]
    limits = ctx["lower_frequency_limit"], ctx["upper_frequency_limit"]
    if not 0 <= limits[0] < limits[1] or not 1 <= count <= channels:
        raise invalid(
            f"mfcc needs limits 0 <= {limits[0]} < {limits[1]}, and coefficients 1 <= {count} <= {channels} channels"
        )
    cosines = _cosines(channels, count)
    known: dict[tuple[int, int], Array] = {}

    def coefficients(spectrogram: torch.Tensor, sample_rate: torch.Tensor) -> torch.Tensor:
        rate = int(sample_rate)
        if spectrogram.ndim != 3 or spectrogram.shape[2] < 2 or rate <= 0:
            raise invalid(f"mfcc of a spectrogram of shape {list(spectrogram.shape)} at the rate {rate}")
        bins = spectrogram.shape[2]
        if (bins, rate) not in known:
            known[bins, rate] = mel_weights(bins, rate, channels, *limits)
        energy = np.sqrt(spectrogram.numpy().astype(np.float64)) @ known[bins, rate]
        found = np.log(np.maximum(energy, _LEAST)) @ cosines
        return torch.from_numpy(found.astype(np.float32))

    return coefficients
