"""16-bit WAV files to tensors, and tensors to WAV files (TF: tf.audio.decode_wav, tf.audio.encode_wav)."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import torch

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Tensor
from penstock.graph.shape_context import SCALAR, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import float32, int32, string
from penstock.tensor.shapes import TensorShape

_FORMAT = struct.Struct("<HHIIHH")  # kind, channels, samples and bytes per second, bytes per sample, bits

DECODE_WAV = define_op(
    "DecodeWav",
    "contents: string",
    "audio: float, sample_rate: int32",
    attrs=["desired_channels: int = -1", "desired_samples: int = -1"],
    work=SERIAL,
)
DECODE_WAV.not_differentiable()

ENCODE_WAV = define_op("EncodeWav", "audio: float, sample_rate: int32", "contents: string", work=SERIAL)
ENCODE_WAV.not_differentiable()


@DECODE_WAV.shape
def decode_wav_shape(c: ShapeContext, contents: TensorShape) -> list[TensorShape]:
    contents.assert_has_rank(0)
    dims = []
    for what in ("samples", "channels"):
        count = c.attrs[f"desired_{what}"]
        if count < -1:
            raise ValueError(f"{what} must be non-negative, got {count}")
        dims.append(None if count == -1 else count)
    return [TensorShape(dims), SCALAR]


@ENCODE_WAV.shape
def encode_wav_shape(c: ShapeContext, audio: TensorShape, sample_rate: TensorShape) -> TensorShape:
    audio.assert_has_rank(2)
    sample_rate.assert_has_rank(0)
    return SCALAR


class _Chunks:
    """The chunks of a WAV file, in order."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def more(self) -> bool:
        return self._at < len(self._data)

    def take(self, size: int) -> bytes:
        found = self._data[self._at : self._at + size]
        if len(found) < size:
            raise invalid("Data too short when trying to read string")
        self._at += size
        return found

    def expect(self, wanted: bytes) -> None:
        found = self.take(len(wanted))
        if found != wanted:
            raise invalid(f"Header mismatch: Expected {wanted.decode()} but found {found.decode('latin-1')}")

    def size(self) -> int:
        return int.from_bytes(self.take(4), "little")


def read_wav(data: bytes) -> tuple[np.ndarray, int]:
    """int16 [samples, channels], and samples per second. Raises InvalidArgumentError for other kinds of files."""
    chunks = _Chunks(data)
    chunks.expect(b"RIFF")
    chunks.size()
    chunks.expect(b"WAVE")
    chunks.expect(b"fmt ")
    size = chunks.size()
    if size not in (16, 18):
        raise invalid(f"Bad format chunk size for WAV: Expected 16 or 18, but got {size}")
    kind, channels, rate, byte_rate, sample_bytes, bits = _FORMAT.unpack(chunks.take(16))
    chunks.take(size - 16)
    if kind != 1:
        raise invalid(f"Bad audio format for WAV: Expected 1 (PCM), but got {kind}")
    if bits != 16:
        raise invalid(f"Can only read 16-bit WAV files, but received {bits}")
    if not channels or sample_bytes != 2 * channels:
        raise invalid(f"Bad bytes per sample in WAV header: Expected {2 * channels} but got {sample_bytes}")
    if byte_rate != rate * sample_bytes:
        raise invalid(f"Bad bytes per second in WAV header: Expected {rate * sample_bytes} but got {byte_rate}")
    sound = None
    while chunks.more():
        name = chunks.take(4)
        content = chunks.take(chunks.size())
        if name == b"data":
            if sound is not None:
                raise invalid("More than one data chunk found in WAV")
            sound = content[: len(content) // sample_bytes * sample_bytes]
    if sound is None:
        raise invalid("No data chunk found in WAV")
    return np.frombuffer(sound, "<i2").reshape(-1, channels), rate


@DECODE_WAV.kernel("CPU")
def decode_wav_kernel(ctx: KernelContext) -> Kernel:
    wanted_channels, wanted_samples = ctx["desired_channels"], ctx["desired_samples"]

    def decode(contents: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        if contents.ndim:
            raise invalid(f"contents must be scalar, got shape {list(contents.shape)}")
        sound, rate = read_wav(contents.item())
        samples, channels = sound.shape
        found = np.zeros(
            (
                samples if wanted_samples == -1 else wanted_samples,
                channels if wanted_channels == -1 else wanted_channels,
            ),
            np.float32,
        )
        count = min(samples, len(found))
        from_channel = np.minimum(np.arange(found.shape[1]), channels - 1)  # the last one is repeated for missing ones
        found[:count] = sound[:count, from_channel] / np.float32(1 << 15)
        return torch.from_numpy(found), torch.tensor(rate, dtype=torch.int32)

    return decode


@ENCODE_WAV.kernel("CPU", host=["sample_rate"])
def encode_wav_kernel(ctx: KernelContext) -> Kernel:
    def encode(audio: torch.Tensor, sample_rate: torch.Tensor) -> np.ndarray:
        if audio.dim() != 2:
            raise invalid(f"audio must be 2-dimensional but got shape {list(audio.shape)}")
        rate, channels = int(sample_rate), audio.shape[1]
        if rate <= 0:
            raise invalid(f"sample_rate must be in (0, 2^32), got: {rate}")
        if not 0 < channels < 1 << 16:
            raise invalid(f"channels must be in (0, 2^16), got: {channels}")
        scaled = audio.numpy() * np.float32(1 << 15)
        rounded = np.trunc(scaled + np.copysign(np.float32(0.5), scaled))
        sound = np.clip(rounded, -(1 << 15), (1 << 15) - 1).astype("<i2").tobytes()
        header = _FORMAT.pack(1, channels, rate, rate * channels * 2, channels * 2, 16)
        body = b"WAVEfmt " + struct.pack("<I", len(header)) + header + b"data" + struct.pack("<I", len(sound))
        contents = b"RIFF" + struct.pack("<I", len(body) + len(sound)) + body + sound
        return np.array(contents, object)

    return encode


@export("audio.decode_wav")
def decode_wav(contents: Any, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None) -> Any:
    """(audio, sample_rate) of a 16-bit WAV file: float32 [samples, channels] from -1 to 1, and an int32.

    desired_samples: shorter sounds are padded with silence. desired_channels: if a file has fewer channels, the last
    one is repeated. -1: as in the file. Raises InvalidArgumentError for other files. TF: tf.audio.decode_wav.
    """
    return DECODE_WAV(
        convert_to_tensor(contents, string),
        desired_channels=desired_channels,
        desired_samples=desired_samples,
        name=name,
    )


@export("audio.encode_wav")
def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Tensor:
    """`audio`, [samples, channels] from -1 to 1, as a 16-bit WAV file: a scalar string (TF: tf.audio.encode_wav)."""
    return ENCODE_WAV(convert_to_tensor(audio, float32), convert_to_tensor(sample_rate, int32), name=name)
