"""tf.contrib.signal gives the values of TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

RECORDED = np.load(Path(__file__).parents[1] / "data" / "signals.npz")
signal = tf.contrib.signal

CASES: dict[str, Callable[[Any], Any]] = {
    "hann_8": lambda x: signal.hann_window(8),
    "hann_7": lambda x: signal.hann_window(7),
    "hann_7_symmetric": lambda x: signal.hann_window(7, periodic=False),
    "hamming_8_symmetric": lambda x: signal.hamming_window(8, periodic=False),
    "frame": lambda x: signal.frame(x, 8, 3),
    "frame_padded": lambda x: signal.frame(x, 8, 3, pad_end=True, pad_value=2.0),
    "add": lambda x: signal.overlap_and_add(signal.frame(x, 8, 3), 3),
    "stft": lambda x: signal.stft(x, 12, 5),
    "stft_padded": lambda x: signal.stft(x, 12, 5, fft_length=20, pad_end=True, window_fn=None),
    "inverse": lambda x: signal.inverse_stft(signal.stft(x, 12, 5), 12, 5),
    "inverse_window": lambda x: signal.inverse_stft(
        signal.stft(x, 12, 5), 12, 5, window_fn=signal.inverse_stft_window_fn(5)
    ),
    "mel": lambda x: signal.linear_to_mel_weight_matrix(),
    "mel_wide": lambda x: signal.linear_to_mel_weight_matrix(30, 257, 16000, 20.0, 8000.0),
    "mfccs": lambda x: signal.mfccs_from_log_mel_spectrograms(RECORDED["log_mel"]),
}


@pytest.mark.parametrize("shape", [[2, 50], [None, None]], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_it_gives_tensorflows_values(name: str, shape: list[int | None]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, shape)
        found = CASES[name](x)
        want = RECORDED[name]
        if None not in shape:
            assert found.shape.as_list() == list(want.shape)
        np.testing.assert_allclose(session.run(found, {x: RECORDED["x"]}), want, rtol=1e-4, atol=2e-5)


def test_the_inverse_gives_back_the_signal_where_frames_overlap() -> None:
    with tf.Session() as session:
        spectra = signal.stft(RECORDED["x"], 16, 4)
        back = session.run(signal.inverse_stft(spectra, 16, 4, window_fn=signal.inverse_stft_window_fn(4)))
    np.testing.assert_allclose(back[:, 12:36], RECORDED["x"][:, 12:36], atol=1e-5)


def test_gradients_flow_through_spectra() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(RECORDED["x"])
        energy = tf.reduce_sum(tf.square(signal.inverse_stft(signal.stft(x, 12, 5), 12, 5)))
        with session.as_default():
            assert tf.test.compute_gradient_error(x, [2, 50], energy, [], delta=0.1) < 0.05
            (grad,) = tf.gradients(energy, x)
            assert np.abs(session.run(grad)).max() > 1


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="frame_step must be a positive number"):
        signal.frame(np.zeros(5, np.float32), 2, 0)
    with pytest.raises(ValueError, match="lower_edge_hertz < upper_edge_hertz"):
        signal.linear_to_mel_weight_matrix(lower_edge_hertz=4000.0)
    with pytest.raises(ValueError, match="rank"):
        signal.frame(1.0, 2, 1)


OPEN: dict[str, Callable[[Any, Callable[[int], Any]], Any]] = {
    "hann_8": lambda x, n: signal.hann_window(n(8)),
    "hann_7": lambda x, n: signal.hann_window(n(7)),
    "hann_7_symmetric": lambda x, n: signal.hann_window(n(7), periodic=False),
    "frame": lambda x, n: signal.frame(x, n(8), n(3)),
    "frame_padded": lambda x, n: signal.frame(x, n(8), n(3), pad_end=True, pad_value=2.0),
    "add": lambda x, n: signal.overlap_and_add(signal.frame(x, n(8), n(3)), n(3)),
    "stft": lambda x, n: signal.stft(x, n(12), n(5)),
    "stft_padded": lambda x, n: signal.stft(x, n(12), n(5), fft_length=n(20), pad_end=True, window_fn=None),
    "inverse": lambda x, n: signal.inverse_stft(signal.stft(x, 12, 5), n(12), n(5)),
    "inverse_window": lambda x, n: signal.inverse_stft(
        signal.stft(x, 12, 5), n(12), n(5), window_fn=signal.inverse_stft_window_fn(n(5))
    ),
    "mel_wide": lambda x, n: signal.linear_to_mel_weight_matrix(
        30, n(257), tf.cast(n(16000), tf.float32), 20.0, 8000.0
    ),
    "mfccs": lambda x, n: signal.mfccs_from_log_mel_spectrograms(
        tf.placeholder_with_default(RECORDED["log_mel"], [None] * RECORDED["log_mel"].ndim)
    ),
}


@pytest.mark.parametrize("name", OPEN)
def test_lengths_can_be_known_in_the_step_only(name: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, None])
        found = OPEN[name](x, lambda size: tf.placeholder_with_default(size, []))
        np.testing.assert_allclose(session.run(found, {x: RECORDED["x"]}), RECORDED[name], rtol=1e-4, atol=2e-5)


def test_a_window_of_one_sample_is_one() -> None:
    with tf.Session() as session:
        assert session.run(signal.hann_window(tf.placeholder_with_default(1, []))).tolist() == [1.0]
        assert session.run(signal.hann_window(1)).tolist() == [1.0]


@pytest.mark.parametrize("axes", [None, 1, -1, [0, 1]])
def test_spectra_are_shifted_as_numpy_shifts_them(axes: Any) -> None:
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    with tf.Session() as session:
        for given in (x, tf.placeholder_with_default(x, [None, None])):
            found = session.run([tf.signal.fftshift(given, axes), tf.signal.ifftshift(given, axes)])
            np.testing.assert_array_equal(found[0], np.fft.fftshift(x, axes))
            np.testing.assert_array_equal(found[1], np.fft.ifftshift(x, axes))
