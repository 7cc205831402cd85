"""Helpers that kernels share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from penstock.graph.opdef import TYPE_GROUPS, Kernel
from penstock.runtime.failures import invalid as invalid
from penstock.tensor.dtypes import DType

if TYPE_CHECKING:
    from penstock.runtime.kernels import KernelContext

TORCH_LACKS = "uint16 uint32 uint64"
"""Integer types that torch stores but has few kernels for: such kernels use NumPy."""

TORCH_TYPES = f"{TYPE_GROUPS['numbertype']} bool"
"""Every type whose tensors are torch's: all except string, resource and variant."""

_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}


def as_signed(x: torch.Tensor) -> torch.Tensor:
    """`x`, with its bits viewed as signed integers if torch has few kernels for the unsigned type."""
    signed = _SIGNED.get(x.dtype)
    return x if signed is None else x.view(signed)


def signed_inside(ctx: KernelContext, kernel: Kernel, attr: str = "T") -> Kernel:
    """Makes `kernel`, which only moves the elements of its first argument, support types that torch lacks."""
    dtype = ctx.torch_dtype(attr)
    signed = _SIGNED.get(dtype)
    if signed is None:
        return kernel
    return lambda x, *others: kernel(x.view(signed), *others).view(dtype)


def via_numpy(fn: Callable[..., Any], *outputs: DType) -> Kernel:
    """A CPU kernel that calls `fn` on NumPy arrays and returns torch tensors of the `outputs` dtypes."""
    np_dtypes = [dtype.np for dtype in outputs]

    def kernel(*values: Any) -> Any:
        with np.errstate(all="ignore"):
            found = fn(*(_array(value) for value in values))
        if len(np_dtypes) == 1:
            return _tensor(found, np_dtypes[0])
        return tuple(_tensor(f, d) for f, d in zip(found, np_dtypes, strict=True))

    return kernel


def _array(value: Any) -> Any:
    if isinstance(value, list):
        return [_array(item) for item in value]
    return value.numpy() if isinstance(value, torch.Tensor) else value


def _tensor(found: Any, dtype: Any) -> Any:
    array = np.asarray(found)
    if dtype == np.object_:
        return array
    array = np.ascontiguousarray(array.astype(dtype, copy=False)).reshape(array.shape)
    reversed_ = any(stride < 0 for stride in array.strides)  # as an axis of one element may be in a contiguous array
    return torch.from_numpy(array.copy() if reversed_ or not array.flags.writeable else array)
