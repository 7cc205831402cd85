"""FarmHash's 64-bit fingerprints of many strings at once.

All arithmetic is on arrays of uint64, modulo 2**64. A string's formula depends on its length, so the strings are taken
in groups. Strings that were seen lately are looked up: categories come again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

_K0, _K1, _K2 = np.array([0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F], np.uint64)
_CAT = np.uint64(0xC6A4A7935BD1E995)
_REMEMBERED = 1 << 16
_known: dict[bytes, int] = {}


def fingerprints(texts: Sequence[bytes]) -> np.ndarray:
    """The fingerprint of each text, the same on all machines; [n] uint64."""
    global _known
    found = list(map(_known.get, texts))
    if None in found:
        new = list({text: None for text, known in zip(texts, found, strict=True) if known is None})
        hashed = dict(zip(new, _hash(new).tolist(), strict=True))
        if len(_known) + len(new) > _REMEMBERED:
            _known = {}  # others may still be reading the old one
        if len(new) <= _REMEMBERED:
            _known.update(hashed)
        found = [hashed[text] if known is None else known for text, known in zip(texts, found, strict=True)]
    return np.array(found, np.uint64)


def fingerprint64(text: bytes) -> int:
    """FarmHash's 64-bit fingerprint of one text."""
    return int(fingerprints([text])[0])


def fingerprint_cat(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The fingerprints of pairs: TensorFlow's FingerprintCat64."""
    mixed = _mixed(second * _CAT) * _CAT
    return _mixed(_mixed((first ^ _CAT ^ mixed) * _CAT) * _CAT)


def _hash(texts: Sequence[bytes]) -> np.ndarray:
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    starts = np.cumsum(sizes) - sizes
    # a word is read from each end, and from where a text has none: so there are 8 bytes before and after the texts
    buffer = np.frombuffer(b"".join([bytes(8), *texts, bytes(8)]), np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(buffer, 8)
    found = np.empty(len(texts), np.uint64)
    blocks = np.where(sizes > 64, (sizes - 1) // 64, 0)
    kind = np.where(sizes > 64, len(_SHORT) + blocks, np.searchsorted(_LIMITS, sizes))
    for of in np.unique(kind):
        chosen = np.flatnonzero(kind == of)
        words = _Words(windows, starts[chosen] + 8, sizes[chosen])
        found[chosen] = _SHORT[of](words) if of < len(_SHORT) else _of_long(words, int(of) - len(_SHORT))
    return found


class _Words:
    """Texts of similar length; `words[at]` is the little-endian word of each at `at`, or from its end if negative."""

    def __init__(self, windows: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> None:
        self._windows, self._starts, self._ends = windows, starts, starts + sizes
        self.size = sizes.astype(np.uint64)

    def __getitem__(self, at: int) -> np.ndarray:
        offsets = self._starts + at if at >= 0 else self._ends + at
        return np.ascontiguousarray(self._windows[offsets]).view("<u8").reshape(-1).astype(np.uint64, copy=False)

    def byte(self, at: np.ndarray) -> np.ndarray:
        return self._windows[self._starts + at.astype(np.int64), 0].astype(np.uint64)


def _rotated(value: np.ndarray, shift: int) -> np.ndarray:
    return value >> np.uint64(shift) | value << np.uint64(64 - shift)


def _mixed(value: np.ndarray) -> np.ndarray:
    return value ^ value >> np.uint64(47)


def _hash_16(u: np.ndarray, v: np.ndarray, mul: np.ndarray) -> np.ndarray:
    a = _mixed((u ^ v) * mul)
    return _mixed((v ^ a) * mul) * mul


def _of_none(w: _Words) -> np.ndarray:
    return np.full(len(w.size), _K2)


def _of_3(w: _Words) -> np.ndarray:
    y = w.byte(np.zeros_like(w.size)) + (w.byte(w.size >> np.uint64(1)) << np.uint64(8))
    z = w.size + (w.byte(w.size - np.uint64(1)) << np.uint64(2))
    return _mixed(y * _K2 ^ z * _K0) * _K2


def _of_7(w: _Words) -> np.ndarray:
    half = np.uint64(0xFFFFFFFF)
    return _hash_16(w.size + ((w[0] & half) << np.uint64(3)), w[-4] & half, _K2 + np.uint64(2) * w.size)


def _of_16(w: _Words) -> np.ndarray:
    mul = _K2 + np.uint64(2) * w.size
    a, b = w[0] + _K2, w[-8]
    return _hash_16(_rotated(b, 37) * mul + a, (_rotated(a, 25) + b) * mul, mul)


def _begun(w: _Words, first: np.uint64) -> tuple[np.ndarray, ...]:
    """What texts of 17 to 64 bytes begin with: their multiplier, first word, and two sums."""
    mul = _K2 + np.uint64(2) * w.size
    a, b = w[0] * first, w[8]
    c, d = w[-8] * mul, w[-16] * _K2
    return mul, a, _rotated(a + b, 43) + _rotated(c, 30) + d, a + _rotated(b + _K2, 18) + c


def _of_32(w: _Words) -> np.ndarray:
    mul, _, y, z = _begun(w, _K1)
    return _hash_16(y, z, mul)


def _of_64(w: _Words) -> np.ndarray:
    mul, a, y, z = _begun(w, _K2)
    z = _hash_16(y, z, mul)
    e, f = w[16] * mul, w[24]
    g, h = (y + w[-32]) * mul, (z + w[-24]) * mul
    return _hash_16(_rotated(e + f, 43) + _rotated(g, 30) + h, e + _rotated(f + a, 18) + g, mul)


def _weak(w: _Words, at: int, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hashes 32 bytes and two seeds to two numbers."""
    a = a + w[at]
    total = a + w[at + 8] + w[at + 16]
    b = _rotated(b + a + w[at + 24], 21) + _rotated(total, 44)
    return total + w[at + 24], b + a


def _of_long(w: _Words, blocks: int) -> np.ndarray:
    """Texts of more than 64 bytes: `blocks` of 64, and then the last 64 bytes."""
    zero = np.zeros_like(w.size)
    x = zero + np.uint64(81)
    y = x * _K1 + np.uint64(113)
    z = _mixed(y * _K2 + np.uint64(113)) * _K2
    v, u = (zero, zero), (zero, zero)
    x = x * _K2 + w[0]
    for at in range(0, 64 * blocks, 64):
        x = _rotated(x + y + v[0] + w[at + 8], 37) * _K1 ^ u[1]
        y = _rotated(y + v[1] + w[at + 48], 42) * _K1 + v[0] + w[at + 40]
        z = _rotated(z + u[0], 33) * _K1
        v = _weak(w, at, v[1] * _K1, x + u[0])
        u = _weak(w, at + 32, z + u[1], y + w[at + 16])
        x, z = z, x
    mul = _K1 + ((z & np.uint64(0xFF)) << np.uint64(1))
    rest = u[0] + (w.size - np.uint64(1) & np.uint64(63))
    v, u = (v[0] + rest, v[1]), (rest + v[0] + rest, u[1])
    x = _rotated(x + y + v[0] + w[-56], 37) * mul ^ u[1] * np.uint64(9)
    y = _rotated(y + v[1] + w[-16], 42) * mul + v[0] * np.uint64(9) + w[-24]
    z = _rotated(z + u[0], 33) * mul
    v = _weak(w, -64, v[1] * mul, x + u[0])
    u = _weak(w, -32, z + u[1], y + w[-48])
    x, z = z, x
    return _hash_16(_hash_16(v[0], u[0], mul) + _mixed(y) * _K0 + z, _hash_16(v[1], u[1], mul) + x, mul)


_LIMITS = np.array([0, 3, 7, 16, 32])
_SHORT: list[Callable[[_Words], np.ndarray]] = [_of_none, _of_3, _of_7, _of_16, _of_32, _of_64]
