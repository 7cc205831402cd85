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
from penstock.ops.fft_cosine import idct as idct

__all__ = [
    "fft", "fft2d", "fft3d", "ifft", "ifft2d", "ifft3d", "irfft", "irfft2d", "irfft3d", "rfft", "rfft2d", "rfft3d",
    "dct", "idct"
]
