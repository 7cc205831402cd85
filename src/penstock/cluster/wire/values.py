"""Values as bytes: a pickle, with the memory of tensors and arrays beside it instead of in it.

Sending copies nothing: `encode` returns views of the tensors' own memory. Receiving copies nothing either: the memory
that `decode` is given becomes the tensors' memory.
"""

from __future__ import annotations

import io
import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from penstock.checkpoint.memory import KeptMemory

_IN_BAND = 4096
"""Memory up to this size is copied into the pickle: that is cheaper than to name, send and receive it apart."""

_LARGE = 1 << 20
_MEMORY = KeptMemory()

_BY_NUMPY = frozenset(
    (
        torch.float32,
        torch.float64,
        torch.float16,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.uint8,
        torch.uint16,
        torch.uint32,
        torch.uint64,
        torch.bool,
        torch.complex64,
        torch.complex128,
    )
)


@dataclass(frozen=True, slots=True)
class Missing:
    """Stands for a tensor or array for which the receiver has no memory."""

    nbytes: int


def encode(value: Any) -> tuple[memoryview, list[memoryview]]:
    """The pickle, and the memory that goes beside it, which must not change until it is sent."""
    beside: list[memoryview] = []

    def keep(buffer: pickle.PickleBuffer) -> bool:
        view = buffer.raw()
        if view.nbytes <= _IN_BAND:
            return True
        beside.append(view)
        return False

    file = io.BytesIO()
    _Pickler(file, 5, buffer_callback=keep).dump(value)
    return file.getbuffer(), beside


def decode(pickled: memoryview | bytes, beside: Sequence[Any]) -> Any:
    """The value, which owns the memory `beside`; where that is None, it has a `Missing`.

    Runs code that the sender chose: only for authenticated senders.
    """
    return pickle.loads(pickled, buffers=beside)


def fresh_memory(size: int) -> Any:
    """Uninitialised memory for `decode` (an array of bytes). If it is large, it is used again once it is free: to map
    and clear new pages takes longer than to receive what comes in them."""
    return _MEMORY.take(size) if size >= _LARGE else torch.empty(size, dtype=torch.uint8).numpy()


def _reduce_tensor(tensor: torch.Tensor) -> tuple[Any, ...]:
    tensor = tensor.detach()
    if tensor.device.type != "cpu":
        tensor = _staged(tensor)
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    dtype, shape = tensor.dtype, tuple(tensor.shape)
    if not tensor.numel():
        return _empty_tensor, (dtype, shape)
    tensor = tensor.contiguous()
    if dtype not in _BY_NUMPY:
        tensor = tensor.reshape(-1).view(torch.uint8)
    memory: Any = tensor.numpy()
    return _tensor, (dtype, shape, pickle.PickleBuffer(memory))


def _staged(tensor: torch.Tensor) -> torch.Tensor:
    """A GPU's tensor in pinned host memory, from which sockets send it.

    A direct path between GPUs would replace this function and its counterpart where the receiver puts values on its
    device.
    """
    host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    host.copy_(tensor)  # blocking: the value is sent next
    return host


def _tensor(dtype: torch.dtype, shape: tuple[int, ...], memory: Any) -> torch.Tensor | Missing:
    if memory is None:
        return Missing(math.prod(shape) * dtype.itemsize)
    return torch.frombuffer(memory, dtype=dtype).view(shape)


def _empty_tensor(dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype)


def _reduce_array(array: np.ndarray[Any, Any]) -> Any:
    if array.dtype.hasobject or array.dtype.kind in "SUV" or not array.size:
        return array.__reduce_ex__(5)
    if not array.flags.c_contiguous:
        array = array.copy(order="C")
    memory: Any = array.reshape(-1).view(np.uint8)
    return _array, (array.dtype, array.shape, pickle.PickleBuffer(memory))


def _array(dtype: np.dtype[Any], shape: tuple[int, ...], memory: Any) -> np.ndarray[Any, Any] | Missing:
    if memory is None:
        return Missing(math.prod(shape) * dtype.itemsize)
    return np.frombuffer(memory, dtype=dtype).reshape(shape)


class _Pickler(pickle.Pickler):
    dispatch_table = {torch.Tensor: _reduce_tensor, np.ndarray: _reduce_array}  # noqa: RUF012 - as pickle wants it
