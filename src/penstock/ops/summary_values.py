"""Values as Summary messages: the content of the summary ops' strings, which TensorBoard shows."""

from __future__ import annotations

import functools
import io
import sys
import wave
from typing import Any

import numpy as np
from tensorboard.compat.proto import histogram_pb2, summary_pb2

from penstock import errors
from penstock.ops.png import encode_png

Value = summary_pb2.Summary.Value

# --- histograms -----------------------------------------------------------------------------------------


@functools.cache
def bucket_limits() -> np.ndarray:
    """TensorFlow's buckets: each limit is 1.1 times the previous one, from 1e-12 to 1e20, on both sides of 0."""
    positive = []
    limit = 1e-12
    while limit < 1e20:
        positive.append(limit)
        limit *= 1.1
    positive.append(sys.float_info.max)
    return np.array([-v for v in reversed(positive)] + [0.0] + positive)


def histogram_value(tag: str, values: np.ndarray) -> Any:
    """Raises InvalidArgumentError for a NaN or an infinity among `values`, which no bucket takes."""
    flat = np.asarray(values, np.float64).reshape(-1)
    # Sorting and looking up the limits takes a tenth of the time of looking up each value. NaNs are last then.
    ordered = np.sort(values.reshape(-1) if values.dtype == np.float32 else flat)
    if not np.isfinite(ordered[[0, -1]] if ordered.size else ()).all():
        kind = "Nan" if np.isnan(flat[~np.isfinite(flat)][0]) else "Infinity"
        raise errors.InvalidArgumentError(None, None, f"{kind} in summary histogram for: {tag}")
    largest = sys.float_info.max
    with np.errstate(over="ignore"):
        histogram = histogram_pb2.HistogramProto(
            min=ordered[0] if flat.size else largest,
            max=ordered[-1] if flat.size else -largest,
            num=flat.size,
            sum=flat.sum(),
            sum_squares=np.dot(flat, flat),
        )
    counts = _counts(ordered)
    shown = counts > 0  # a run of empty buckets is merged into one
    shown[:-1] |= shown[1:]
    shown[-1] = True
    histogram.bucket_limit.extend(bucket_limits()[shown].tolist())
    histogram.bucket.extend(counts[shown].tolist())
    return Value(tag=tag, histo=histogram)


def _counts(ordered: np.ndarray) -> np.ndarray:
    """How many of the sorted values are in each bucket; the largest float belongs to the last one."""
    limits = bucket_limits()
    if ordered.size < limits.size:  # what is fewer is looked up: programs show small weights, many in each step
        found = np.searchsorted(limits, ordered, side="right")
        return np.bincount(np.minimum(found, limits.size - 1), minlength=limits.size)
    ends = np.searchsorted(ordered, limits, side="left")
    ends[-1] = ordered.size
    ends[1:] -= ends[:-1]
    return ends


# --- images ---------------------------------------------------------------------------------------------


def image_values(tag: str, images: np.ndarray, max_images: int, bad_color: np.ndarray) -> list[Any]:
    """Up to `max_images` of `images` [batch, height, width, 1, 3 or 4], uint8 or floats, as PNGs.

    Floats are scaled image by image: the largest becomes 255; if there are negative ones, 0 becomes 128. A pixel that
    is not finite is shown in `bad_color`.
    """
    if images.ndim != 4 or images.shape[3] not in (1, 3, 4):
        shape = ",".join(map(str, images.shape))
        message = f"Tensor must be 4-D with last dim 1, 3, or 4, not [{shape}]"
        raise errors.InvalidArgumentError(None, None, message)
    channels = images.shape[3]
    if bad_color.ndim != 1 or len(bad_color) < channels:
        message = f"bad_color must have at least {channels} elements for images of {channels} channels"
        raise errors.InvalidArgumentError(None, None, message)
    values = []
    for i, image in enumerate(images[:max_images]):
        pixels = image if image.dtype == np.uint8 else _normalized(image, bad_color[:channels])
        encoded = summary_pb2.Summary.Image(
            height=image.shape[0],
            width=image.shape[1],
            colorspace=channels,
            encoded_image_string=encode_png(pixels),
        )
        values.append(Value(tag=f"{tag}/image" if max_images == 1 else f"{tag}/image/{i}", image=encoded))
    return values


def _normalized(image: np.ndarray, bad_color: np.ndarray) -> np.ndarray:
    image = image.astype(np.float64 if image.dtype == np.float64 else np.float32)
    finite = np.isfinite(image).all(axis=2)
    shown = image[finite]
    low, high = (shown.min(), shown.max()) if shown.size else (0.0, 0.0)
    full, offset = (127, 128) if low < 0 else (255, 0)
    most = max(abs(low), abs(high))
    scale = image.dtype.type(0 if most < 1e-6 else full / most)
    pixels = np.empty(image.shape, np.uint8)
    pixels[finite] = shown * scale + image.dtype.type(offset)
    pixels[~finite] = bad_color
    return pixels


# --- sound ----------------------------------------------------------------------------------------------


def audio_values(tag: str, clips: np.ndarray, sample_rate: float, max_outputs: int) -> list[Any]:
    """Up to `max_outputs` of `clips` [batch, frames] or [batch, frames, channels], in [-1, 1], as WAVs."""
    if clips.ndim not in (2, 3):
        shape = ",".join(map(str, clips.shape))
        raise errors.InvalidArgumentError(None, None, f"Tensor must be 3-D or 2-D, got: [{shape}]")
    values = []
    for i, clip in enumerate(clips.reshape(*clips.shape[:2], -1)[:max_outputs]):
        frames, channels = clip.shape
        samples = np.clip(np.rint(clip.astype(np.float64) * 32768), -32768, 32767).astype("<i2")
        file = io.BytesIO()
        with wave.open(file, "wb") as out:
            out.setnchannels(channels)
            out.setsampwidth(2)
            out.setframerate(max(1, round(sample_rate)))
            out.writeframes(samples.tobytes())
        encoded = summary_pb2.Summary.Audio(
            sample_rate=sample_rate,
            num_channels=channels,
            length_frames=frames,
            encoded_audio_string=file.getvalue(),
            content_type="audio/wav",
        )
        values.append(Value(tag=f"{tag}/audio" if max_outputs == 1 else f"{tag}/audio/{i}", audio=encoded))
    return values
