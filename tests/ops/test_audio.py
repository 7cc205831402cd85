"""WAV files; values and errors are TensorFlow's (2.21, recorded)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf

SOUND = np.array([[0, 0.5], [1, -1], [-0.5, 2], [1e-5, 0.99999], [1.5 / 32768, 2.5 / 32768]], np.float32)
WAV = (
    b"RIFF8\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x02\x00@\x1f\x00\x00\x00}\x00\x00\x04\x00\x10\x00data\x14\x00"
    b"\x00\x00\x00\x00\x00@\xff\x7f\x00\x80\x00\xc0\xff\x7f\x00\x00\xff\x7f\x02\x00\x03\x00"
)
READ = [[0.0, 0.5], [32767 / 32768, -1.0], [-0.5, 32767 / 32768], [0.0, 32767 / 32768], [2 / 32768, 3 / 32768]]


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def run(fetches: Any) -> Any:
    with tf.Session() as sess:
        return sess.run(fetches)


def test_a_sound_is_written_and_read_as_tensorflow_does() -> None:
    assert run(tf.audio.encode_wav(SOUND, 8000)) == WAV
    audio, rate = run(tf.audio.decode_wav(WAV))
    assert (audio.tolist(), rate) == (READ, 8000)
    assert run(tf.audio.encode_wav(SOUND[:, :1], 44100)) == (
        b"RIFF.\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00D\xac\x00\x00\x88X\x01\x00\x02\x00\x10\x00data\n\x00"
        b"\x00\x00\x00\x00\xff\x7f\x00\xc0\x00\x00\x02\x00"
    )


@pytest.mark.parametrize("channels", [-1, 0, 1, 2, 3, 4])
@pytest.mark.parametrize("samples", [-1, 0, 3, 7])
def test_missing_channels_repeat_the_last_and_missing_samples_are_silent(channels: int, samples: int) -> None:
    audio = tf.audio.decode_wav(WAV, channels, samples)[0]
    assert audio.shape.as_list() == [n if n >= 0 else None for n in (samples, channels)]
    wanted = [row + [row[1]] * 2 for row in READ] + [[0.0] * 4] * 2
    rows, columns = samples if samples >= 0 else 5, channels if channels >= 0 else 2
    assert run(audio).tolist() == [row[:columns] for row in wanted[:rows]]


def _changed(place: int, value: int) -> bytes:
    return WAV[:place] + bytes([value]) + WAV[place + 1 :]


_LIST = b"LIST" + struct.pack("<I", 4) + b"abcd"


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        (b"", "Data too short when trying to read string"),
        (WAV[:20], "Data too short when trying to read string"),
        (WAV[:-3], "Data too short when trying to read string"),
        (b"hello world this is no wav", "Header mismatch: Expected RIFF but found hell"),
        (_changed(20, 3), r"Bad audio format for WAV: Expected 1 \(PCM\), but got"),
        (_changed(34, 8), "Can only read 16-bit WAV files, but received 8"),
        (_changed(32, 3), "Bad bytes per sample in WAV header: Expected 4 but got 3"),
        (_changed(28, 3), "Bad bytes per second in WAV header: Expected 32000 but got 32003"),
        (WAV + WAV[36:], "More than one data chunk found in WAV"),
        (WAV[:36], "No data chunk found in WAV"),
    ],
)
def test_files_of_other_kinds_are_refused(contents: bytes, said: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=said):
        run(tf.audio.decode_wav(contents)[0])


def test_chunks_of_other_kinds_are_skipped() -> None:
    assert run(tf.audio.decode_wav(WAV[:36] + _LIST + WAV[36:]))[0].tolist() == READ
