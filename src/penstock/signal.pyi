# Written by `python -m penstock.api.generate`.
from penstock.ops.fft import fft as fft
from penstock.ops.fft import fft2d as fft2d
from penstock.ops.fft import fft3d as fft3d
from penstock.ops.fft import ifft as ifft
from penstock.ops.fft import ifft2d as ifft2d
from penstock.ops.fft import ifft3d as ifft3d
from penstock.ops.fft import irfft as irfft
from penstock.ops.fft import irfft2d as irfft2d
from penstock.ops.fft import irfft3d as irfft3d
from penstock.ops.fft import rfft as rfft
from penstock.ops.fft import rfft2d as rfft2d
from penstock.ops.fft import rfft3d as rfft3d
from penstock.ops.fft_cosine import dct as dct
from penstock.ops.fft_cosine import fftshift as fftshift
from penstock.ops.fft_cosine import idct as idct
from penstock.ops.fft_cosine import ifftshift as ifftshift
from penstock.ops.signal import frame as frame
from penstock.ops.signal import hamming_window as hamming_window
from penstock.ops.signal import hann_window as hann_window
from penstock.ops.signal import inverse_stft as inverse_stft
from penstock.ops.signal import inverse_stft_window_fn as inverse_stft_window_fn
from penstock.ops.signal import linear_to_mel_weight_matrix as linear_to_mel_weight_matrix
from penstock.ops.signal import mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms
from penstock.ops.signal import overlap_and_add as overlap_and_add
from penstock.ops.signal import stft as stft

__all__ = [
    "fft", "fft2d", "fft3d", "ifft", "ifft2d", "ifft3d", "irfft", "irfft2d", "irfft3d", "rfft", "rfft2d", "rfft3d",
    "dct", "fftshift", "idct", "ifftshift", "frame", "hamming_window", "hann_window", "inverse_stft",
    "inverse_stft_window_fn", "linear_to_mel_weight_matrix", "mfccs_from_log_mel_spectrograms", "overlap_and_add",
    "stft"
]
