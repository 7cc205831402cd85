"""Discrete cosine transforms of the last dimension, by real Fourier transforms (TF: tf.spectral.dct, idct)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.cast import cast
from penstock.ops.complex_numbers import complex as make_complex
from penstock.ops.elementwise import like
from penstock.ops.fft import irfft, rfft
from penstock.ops.filling import fill, zeros_like
from penstock.ops.joining import concat
from penstock.ops.padding import pad
from penstock.ops.sequences import range as indices
from penstock.ops.unary import rsqrt

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


@export("signal.dct", "spectral.dct")
def dct(
    input: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, name: str | None = None
) -> Tensor:
    """The cosine transform of type 1, 2, 3 or 4 of the last dimension, float32 or float64 (TF: tf.spectral.dct).

    `n`: its length, to which `input` is truncated or zero-padded. `norm`: None, or "ortho" for an orthogonal transform
    (not of type 1). Raises ValueError for others, and for other axes.
    """
    with name_scope(name, "dct", [input]):
        return _transform(input, type, n, axis, norm)


@export("signal.idct", "spectral.idct")
def idct(
    input: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, name: str | None = None
) -> Tensor:
    """The inverse of `dct`, times 2n if `norm` is None (2n - 2 for type 1), as in SciPy (TF: tf.spectral.idct)."""
    with name_scope(name, "idct", [input]):
        return _transform(input, _INVERSE.get(type, type), n, axis, norm)


def _transform(input: Any, type: int, n: int | None, axis: int, norm: str | None) -> Tensor:
    x = convert_to_tensor(input, name="input")
    if axis != -1:
        raise ValueError(f"axis must be -1, got {axis}")
    if n is not None and n < 1:
        raise ValueError(f"n must be None or at least 1, got {n}")
    if type not in _INVERSE:
        raise ValueError(f"the type of a cosine transform must be 1, 2, 3 or 4, got {type}")
    if norm not in (None, "ortho"):
        raise ValueError(f"norm must be None or 'ortho', got {norm!r}")
    if n is not None:
        x = _of_length(x, n)
    if type == 1:
        if norm == "ortho":
            raise ValueError("a cosine transform of type 1 has no norm 'ortho'")
        if x.shape.with_rank_at_least(1).ndims is not None and x.shape.tuple[-1] in (0, 1):
            raise ValueError(f"a cosine transform of type 1 takes at least 2 values, got shape {x.shape}")
        return _dct1(x)
    return {2: _dct2, 3: _dct3, 4: _dct4}[type](x, norm == "ortho")


def _of_length(x: Tensor, n: int) -> Tensor:
    """The first n values of the last dimension, zero-padded if there are fewer."""
    rank = x.shape.with_rank_at_least(1).ndims
    if rank is None:
        raise ValueError("n can be given only for an input of known rank")
    missing = get_op("Maximum")(n - get_op("Shape")(x)[-1], 0)
    return pad(x[..., :n], [[0, 0]] * (rank - 1) + [[0, missing]])[..., :n]


def _length(x: Tensor) -> Any:
    """The size of the last dimension: a number if it is known."""
    known = x.shape.tuple[-1] if x.shape.ndims else None
    return get_op("Shape")(x)[-1] if known is None else known


def _with_zeros(x: Tensor) -> Tensor:
    """x followed by the same number of zeros."""
    return concat([x, zeros_like(x)], -1)


def _phases(n: Any, x: Tensor, sign: float) -> Tensor:
    """exp(i sign pi k / 2n) for k = 0 … n - 1."""
    dtype = x.dtype.base_dtype
    angles = cast(indices(n), dtype) * (like(sign * math.pi / 2, x) / cast(n, dtype))
    return make_complex(get_op("Cos")(angles), get_op("Sin")(angles))


def _weights(n: Any, x: Tensor, first: float) -> Tensor:
    """The weights that make a transform orthogonal: first / sqrt(n), then sqrt(1 / 2n) for the n - 1 other values."""
    scale = rsqrt(cast(n, x.dtype.base_dtype))
    return concat([fill([1], like(first, x)), fill([n - 1], like(math.sqrt(0.5), x))], 0) * scale


def _dct1(x: Tensor) -> Tensor:
    """The real transform of x and its mirror image, with both ends included once."""
    mirrored = concat([x, get_op("ReverseV2")(x, [-1])[..., 1:-1]], -1)
    return get_op("Real")(rfft(mirrored), Tout=x.dtype.base_dtype)


def _dct2(x: Tensor, ortho: bool) -> Tensor:
    """2 sum_j x_j cos(pi k (2j + 1) / 2n): a transform of length 2n, turned by half a sample."""
    n = _length(x)
    spectrum = rfft(_with_zeros(x))[..., :n] * _phases(n, x, -1.0)
    found = get_op("Real")(spectrum, Tout=x.dtype.base_dtype) * like(2.0, x)
    return found * _weights(n, x, 0.5) if ortho else found


def _dct3(x: Tensor, ortho: bool) -> Tensor:
    """x_0 + 2 sum_j x_j cos(pi j (2k + 1) / 2n): half of an inverse transform of length 2n, times 2n."""
    n = _length(x)
    x = x * _weights(n, x, 1.0) if ortho else x
    scaled = x * (like(2.0, x) * cast(n, x.dtype.base_dtype))
    spectrum = make_complex(scaled, zeros_like(scaled)) * _phases(n, x, 1.0)
    last = zeros_like(spectrum)[..., :1]  # frequency n, which no x_j stands for
    return irfft(concat([spectrum, last], -1))[..., :n]


def _dct4(x: Tensor, ortho: bool) -> Tensor:
    """2 sum_j x_j cos(pi (2k + 1)(2j + 1) / 4n): the odd values of type 2 of twice the length."""
    found = _dct2(_with_zeros(x), False)[..., 1::2]
    return found * (like(math.sqrt(0.5), x) * rsqrt(cast(_length(x), x.dtype.base_dtype))) if ortho else found


# --- the order of spectra -------------------------------------------------------------------------------


@export("signal.fftshift")
def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """x with the halves of `axes` (by default all) exchanged, so that frequency zero is in the middle (TF:
    tf.signal.fftshift)."""
    return _shifted(x, axes, name, "fftshift", lambda size: size // 2)


@export("signal.ifftshift")
def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `fftshift` (TF: tf.signal.ifftshift)."""
    return _shifted(x, axes, name, "ifftshift", lambda size: -(size // 2))


def _shifted(x: Any, axes: Any, name: str | None, default_name: str, by: Callable[[Any], Any]) -> Tensor:
    with name_scope(name, default_name, [x]) as scope:
        x = convert_to_tensor(x)
        rank = x.shape.ndims
        if axes is None and rank is None:
            raise ValueError("axes must be given for a tensor of unknown rank")
        along = list(range(rank or 0)) if axes is None else [axes] if isinstance(axes, int) else list(axes)
        known = {} if rank is None else {axis: x.shape.tuple[axis] for axis in along}
        sizes = get_op("Shape")(x)
        shift = [by(sizes[axis] if known.get(axis) is None else known[axis]) for axis in along]
        return get_op("Roll")(x, shift, along, name=scope)
