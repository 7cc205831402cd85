"""Ops of imported graphs that Penstock's own layers write otherwise; values are TensorFlow 1.15's (recorded).

The gradients are checked by finite differences as well, since TensorFlow's are only through some outputs.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import get_op

RECORD = json.loads((Path(__file__).parent.parent / "data" / "fused_cells.json").read_text())
ROWS = RECORD["rows"]
SOUND = np.sin(np.arange(800)[:, None] * 0.05).astype(np.float32)


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as sess:
        return sess.run(fetches, feeds)


def _outputs(row: Any, inputs: list[Any]) -> list[tf.Tensor]:
    found = get_op(row["op"])(*inputs, **row["attrs"])
    return list(found) if isinstance(found, tuple) else [found]


def _inputs(row: Any) -> list[np.ndarray]:
    return [np.array(value, np.int64 if isinstance(value, int) else np.float32) for value in row["inputs"]]


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['op']}-{i}" for i, row in enumerate(ROWS)])
def test_outputs_and_gradients_are_tensorflows(row: Any) -> None:
    inputs = [tf.constant(value) for value in _inputs(row)]
    found = _outputs(row, inputs)
    for tensor, have, want in zip(found, run(found), row["outputs"], strict=True):
        assert tensor.shape.as_list() == list(have.shape)
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)
    if row["through"]:
        loss = tf.add_n([tf.reduce_sum(tf.square(found[i])) for i in row["through"]])
        grads = tf.gradients(loss, [t for t in inputs if t.dtype == tf.float32])
        for have, want in zip(run(grads), row["gradients"], strict=True):
            np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)


def _differences(row: Any, n: int) -> np.ndarray:
    """The derivative of the outputs' sum (memory and state) by input `n`, by finite differences."""
    inputs, step = _inputs(row), 1e-2
    feeds = [tf.placeholder(value.dtype, value.shape) for value in inputs]
    outputs = _outputs(row, feeds)
    total = tf.add_n([tf.reduce_sum(tf.cast(outputs[i], tf.float64)) for i in (1, 6)])
    found = np.zeros(inputs[n].shape)
    with tf.Session() as sess:
        for at in np.ndindex(inputs[n].shape):
            sides = []
            for by in (step, -step):
                moved = [value.copy() for value in inputs]
                moved[n][at] += by
                sides.append(sess.run(total, dict(zip(feeds, moved, strict=True))))
            found[at] = (sides[0] - sides[1]) / (2 * step)
    return found


@pytest.mark.parametrize("op", ["BlockLSTM", "BlockLSTMV2"])
def test_gradients_through_all_steps_are_those_of_finite_differences(op: str) -> None:
    """BlockLSTMGradV2 has the gates in the order of BlockLSTMV2."""
    attrs = {"use_peephole": True, "cell_clip": 0.0}
    row = dict(next(row for row in ROWS if row["op"] == op), attrs=attrs)
    inputs = [tf.constant(value) for value in _inputs(row)]
    found = _outputs(row, inputs)
    total = tf.reduce_sum(found[1]) + tf.reduce_sum(found[6])
    grads = run(tf.gradients(total, inputs[1:]))
    for n, have in enumerate(grads, 1):
        np.testing.assert_allclose(have, _differences(row, n), rtol=2e-2, atol=3e-3)


def test_steps_after_the_longest_sequence_are_zeros() -> None:
    row = next(row for row in ROWS if row["op"] == "BlockLSTM")
    inputs = _inputs(row)
    whole = run(_outputs(row, inputs))
    inputs[0] = np.array(2, np.int64)
    for part, full in zip(run(_outputs(row, inputs)), whole, strict=True):
        np.testing.assert_allclose(part, np.concatenate([full[:2], np.zeros_like(full[2:])]), rtol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError, match="seq_len_max"):
        run(_outputs(row, [np.array(4, np.int64), *inputs[1:]]))


def test_resampler_of_contrib_takes_points_of_any_rank() -> None:
    row = next(row for row in ROWS if row["op"] == "Resampler")
    data, points = _inputs(row)
    found = tf.contrib.resampler.resampler(data, points.reshape(2, 5, 1, 2))
    assert found.shape.as_list() == [2, 5, 1, 2]
    np.testing.assert_allclose(run(found)[:, :, 0], row["outputs"][0], rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError):
        tf.contrib.resampler.resampler(data[0], points)


def test_spectrograms_and_coefficients_are_tensorflows() -> None:
    squares = tf.raw_ops.AudioSpectrogram(input=SOUND, window_size=320, stride=160, magnitude_squared=True)
    plain = tf.raw_ops.AudioSpectrogram(input=SOUND, window_size=256, stride=200)
    usual = tf.raw_ops.Mfcc(spectrogram=squares, sample_rate=16000, dct_coefficient_count=5)
    limits = {"lower_frequency_limit": 100.0, "upper_frequency_limit": 3000.0, "filterbank_channel_count": 12}
    narrow = tf.raw_ops.Mfcc(spectrogram=squares, sample_rate=8000, dct_coefficient_count=4, **limits)
    tensors = {"squares": squares, "plain": plain, "usual": usual, "narrow": narrow}
    for name, value in run(tensors).items():
        wanted = RECORD["sounds"][name]
        assert tensors[name].shape.as_list() == list(value.shape) == wanted["shape"]
        np.testing.assert_allclose(value[0, :, ::16], wanted["part"], rtol=1e-3, atol=1e-5)


def test_a_short_sound_has_no_spectrogram_and_a_wrong_limit_is_an_error() -> None:
    assert run(tf.raw_ops.AudioSpectrogram(input=SOUND[:10], window_size=16, stride=8)).shape == (1, 0, 9)
    with pytest.raises(tf.errors.InvalidArgumentError, match="sample rate"):
        run(tf.raw_ops.Mfcc(spectrogram=np.ones((1, 1, 9), np.float32), sample_rate=4000))
    with pytest.raises(ValueError, match="stride"):
        tf.raw_ops.AudioSpectrogram(input=SOUND, window_size=16, stride=0)


def test_sounds_have_their_ops_where_programs_import_them_from() -> None:
    audio_ops = importlib.import_module("penstock.contrib.framework.python.ops.audio_ops")
    gen_audio_ops = importlib.import_module("penstock.python.ops.gen_audio_ops")
    wave = gen_audio_ops.encode_wav(SOUND, 16000)
    decoded = audio_ops.decode_wav(wave, desired_channels=1, desired_samples=400)
    assert decoded.audio.shape.as_list() == [400, 1]
    spectrum = audio_ops.audio_spectrogram(decoded.audio, window_size=320, stride=40, magnitude_squared=True)
    assert run(audio_ops.mfcc(spectrum, decoded.sample_rate, dct_coefficient_count=4)).shape == (1, 3, 4)
