"""Strings to numbered buckets (TF: StringToHashBucketFast, …): the published hashes, so that ids equal TensorFlow's."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.ops.array import one_of
from penstock.ops.kernel_tools import TORCH_TYPES, invalid
from penstock.runtime.kernels import KernelContext
from penstock.runtime.values import from_runtime
from penstock.tensor.shapes import TensorShape

_MASK = (1 << 64) - 1


def _rotated(value: int, shift: int) -> int:
    """`value` rotated to the right by `shift` of its 64 bits."""
    value &= _MASK
    return (value >> shift | value << (64 - shift)) & _MASK


# --- FarmHash's Fingerprint64 ---------------------------------------------------------------------------

_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _mixed(value: int) -> int:
    value &= _MASK
    return value ^ value >> 47


def _hash_16(u: int, v: int, mul: int) -> int:
    a = _mixed((u ^ v) * mul)
    return _mixed((v ^ a) * mul) * mul & _MASK


def _weak(text: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """Hashes 32 bytes and two seeds to two numbers."""
    w, x, y, z = struct.unpack_from("<4Q", text, at)
    a += w
    total = a + x + y
    b = _rotated(b + a + z, 21) + _rotated(total, 44)
    return (total + z) & _MASK, (b + a) & _MASK


def fingerprint64(text: bytes) -> int:
    """FarmHash's 64-bit fingerprint, the same on all machines."""
    size = len(text)

    def word(at: int) -> int:
        return int.from_bytes(text[at : at + 8], "little")

    if size > 64:
        return _fingerprint_of_long(text, word)
    mul = _K2 + 2 * size
    if size <= 16:
        if size >= 8:
            a, b = word(0) + _K2, word(size - 8)
            return _hash_16((_rotated(b, 37) * mul + a) & _MASK, ((_rotated(a, 25) + b) * mul) & _MASK, mul)
        if size >= 4:
            first, last = int.from_bytes(text[:4], "little"), int.from_bytes(text[-4:], "little")
            return _hash_16(size + (first << 3), last, mul)
        if size:
            y, z = text[0] + (text[size >> 1] << 8), size + (text[-1] << 2)
            return _mixed(y * _K2 ^ z * _K0) * _K2 & _MASK
        return _K2
    a, b = word(0) * (_K1 if size <= 32 else _K2), word(8)
    c, d = word(size - 8) * mul, word(size - 16) * _K2
    y = (_rotated(a + b, 43) + _rotated(c, 30) + d) & _MASK
    z = _hash_16(y, (a + _rotated(b + _K2, 18) + c) & _MASK, mul)
    if size <= 32:
        return z
    e, f = word(16) * mul, word(24)
    g, h = (y + word(size - 32)) * mul, (z + word(size - 24)) * mul
    return _hash_16(
        (_rotated(e + f, 43) + _rotated(g, 30) + h) & _MASK,
        (e + _rotated(f + a, 18) + g) & _MASK,
        mul,
    )


def _fingerprint_of_long(text: bytes, word: Callable[[int], int]) -> int:
    size = len(text)
    x, y = 81, 81 * _K1 + 113
    z = _mixed(y * _K2 + 113) * _K2
    v, w = (0, 0), (0, 0)
    x = x * _K2 + word(0)
    for at in range(0, (size - 1) // 64 * 64, 64):
        x = _rotated(x + y + v[0] + word(at + 8), 37) * _K1 ^ w[1]
        y = _rotated(y + v[1] + word(at + 48), 42) * _K1 + v[0] + word(at + 40)
        z = _rotated(z + w[0], 33) * _K1
        v = _weak(text, at, v[1] * _K1, x + w[0])
        w = _weak(text, at + 32, z + w[1], y + word(at + 16))
        x, y, z = z & _MASK, y & _MASK, x & _MASK
    mul = _K1 + ((z & 0xFF) << 1)
    at, rest = size - 64, w[0] + ((size - 1) & 63)
    v, w = (v[0] + rest, v[1]), (rest + v[0] + rest, w[1])
    x = _rotated(x + y + v[0] + word(at + 8), 37) * mul ^ w[1] * 9
    y = _rotated(y + v[1] + word(at + 48), 42) * mul + v[0] * 9 + word(at + 40)
    z = _rotated(z + w[0], 33) * mul
    v = _weak(text, at, v[1] * mul, x + w[0])
    w = _weak(text, at + 32, z + w[1], y + word(at + 16))
    x, z, mul = z, x, mul & _MASK
    return _hash_16(
        (_hash_16(v[0], w[0], mul) + _mixed(y) * _K0 + z) & _MASK,
        (_hash_16(v[1], w[1], mul) + x) & _MASK,
        mul,
    )


# --- SipHash-2-4 and MurmurHash64A ----------------------------------------------------------------------


def _left(value: int, shift: int) -> int:
    return _rotated(value, 64 - shift)


def sip_hash(text: bytes, key: tuple[int, int]) -> int:
    """SipHash-2-4: without the key, nobody can choose strings that collide in one bucket."""
    low, high = key[0] & _MASK, key[1] & _MASK
    a, b = low ^ 0x736F6D6570736575, high ^ 0x646F72616E646F6D
    c, d = low ^ 0x6C7967656E657261, high ^ 0x7465646279746573

    def rounds(count: int) -> None:
        nonlocal a, b, c, d
        for _ in range(count):
            a, c = (a + b) & _MASK, (c + d) & _MASK
            b, d = _left(b, 13) ^ a, _left(d, 16) ^ c
            a = _left(a, 32)
            c, a = (c + b) & _MASK, (a + d) & _MASK
            b, d = _left(b, 17) ^ c, _left(d, 21) ^ a
            c = _left(c, 32)

    padded = text + bytes(7 - len(text) % 8) + bytes([len(text) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", padded):
        d ^= word
        rounds(2)
        a ^= word
    c ^= 0xFF
    rounds(4)
    return a ^ b ^ c ^ d


def murmur_hash(text: bytes) -> int:
    """MurmurHash64A with TensorFlow's seed: the hash of StringToHashBucket, which the other two superseded."""
    mul = 0xC6A4A7935BD1E995
    hashed = 0xDECAFCAFFE ^ (len(text) * mul & _MASK)
    whole = len(text) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", text[:whole]):
        hashed = (hashed ^ _mixed(word * mul) * mul & _MASK) * mul & _MASK
    if whole < len(text):
        hashed = (hashed ^ int.from_bytes(text[whole:], "little")) * mul & _MASK
    return _mixed(_mixed(hashed) * mul)


# --- ops ------------------------------------------------------------------------------------------------

_BUCKETS = "num_buckets: int >= 1"
STRING_TO_HASH_BUCKET_FAST = define_op("StringToHashBucketFast", "input: string", "output: int64", attrs=[_BUCKETS])
STRING_TO_HASH_BUCKET_STRONG = define_op(
    "StringToHashBucketStrong", "input: string", "output: int64", attrs=[_BUCKETS, "key: list(int)"]
)
STRING_TO_HASH_BUCKET = define_op("StringToHashBucket", "string_tensor: string", "output: int64", attrs=[_BUCKETS])

for _op in (STRING_TO_HASH_BUCKET_FAST, STRING_TO_HASH_BUCKET_STRONG, STRING_TO_HASH_BUCKET):
    _op.shape(shape_rules.unchanged)
    _op.not_differentiable()


def _bucket_kernel(ctx: KernelContext, hashed: Callable[[bytes], int]) -> Kernel:
    count = ctx["num_buckets"]

    def buckets(x: np.ndarray) -> torch.Tensor:
        return torch.tensor([hashed(text) % count for text in x.flat], dtype=torch.int64).reshape(x.shape)

    return buckets


STRING_TO_HASH_BUCKET_FAST.kernel("CPU")(lambda n: _bucket_kernel(n, fingerprint64))
STRING_TO_HASH_BUCKET.kernel("CPU")(lambda n: _bucket_kernel(n, murmur_hash))


@STRING_TO_HASH_BUCKET_STRONG.kernel("CPU")
def string_to_hash_bucket_strong_kernel(ctx: KernelContext) -> Kernel:
    if len(ctx["key"]) != 2:
        raise invalid(f"Key must have 2 elements, got {list(ctx['key'])}")
    low, high = ctx["key"]
    return _bucket_kernel(ctx, lambda text: sip_hash(text, (low, high)))


@export("string_to_hash_bucket_fast", "strings.to_hash_bucket_fast")
def string_to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """Each string's bucket in [0, num_buckets), int64, by FarmHash (TF: tf.string_to_hash_bucket_fast)."""
    return STRING_TO_HASH_BUCKET_FAST(input, num_buckets=num_buckets, name=name)


@export("string_to_hash_bucket_strong", "strings.to_hash_bucket_strong")
def string_to_hash_bucket_strong(input: Any, num_buckets: int, key: Any, name: str | None = None) -> Tensor:
    """Like `string_to_hash_bucket_fast`, using SipHash with `key`, two ints (TF: tf.string_to_hash_bucket_strong)."""
    return STRING_TO_HASH_BUCKET_STRONG(input, num_buckets=num_buckets, key=key, name=name)


@export("string_to_hash_bucket", "strings.to_hash_bucket")
def string_to_hash_bucket(
    string_tensor: Any = None, num_buckets: int | None = None, name: str | None = None, input: Any = None
) -> Tensor:
    """The bucket of an older hash; new programs use `string_to_hash_bucket_fast` (TF: tf.string_to_hash_bucket)."""
    text = one_of("string_tensor", string_tensor, "input", input)
    return STRING_TO_HASH_BUCKET(text, num_buckets=num_buckets, name=name)


# --- Fingerprint ----------------------------------------------------------------------------------------

FINGERPRINT = define_op("Fingerprint", "data: T, method: string", "fingerprint: uint8", attrs=["T: type"])
FINGERPRINT.not_differentiable()


@FINGERPRINT.shape
def fingerprint_shape(c: ShapeContext, data: TensorShape, method: TensorShape) -> TensorShape:
    if data.ndims == 0:
        raise ValueError("data of tf.fingerprint must have at least one dimension")
    return TensorShape([None if data.tuple is None else data.tuple[0], 8])


@FINGERPRINT.kernel("CPU", T=f"{TORCH_TYPES} string")
def fingerprint_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx["T"]

    def prints(data: Any, method: np.ndarray) -> torch.Tensor:
        if method.item() != b"farmhash64":
            raise invalid(f"Unsupported fingerprint method: {method.item()!r}. The only one is 'farmhash64'")
        if not data.ndim:
            raise invalid("data must have at least one dimension, got a scalar")
        array = np.asarray(from_runtime(data, dtype))
        count = len(array)
        rows = [_row_bytes(row) for row in array.reshape(count, array.size // max(count, 1))]
        found = b"".join(fingerprint64(row).to_bytes(8, "little") for row in rows)
        return torch.from_numpy(np.frombuffer(bytearray(found), np.uint8).reshape(count, 8))

    return prints


def _row_bytes(row: np.ndarray) -> bytes:
    """The bytes to hash for a row: its memory, or, for several strings, the hash of each."""
    if row.dtype != object:
        return row.tobytes()
    return row[0] if len(row) == 1 else b"".join(fingerprint64(text).to_bytes(8, "little") for text in row)


@export("fingerprint")
def fingerprint(data: Any, method: str = "farmhash64", name: str | None = None) -> Tensor:
    """A hash, 8 uint8, of each `data[i]`: [data.shape[0], 8], the same in every run (TF: tf.fingerprint)."""
    return FINGERPRINT(data, method, name=name)
