"""Lossy compression of what crosses machines (white paper section 5.5): float32 as 16 bits.

As the paper says: the mantissa is cut off on the way out and filled with zeros on arrival. That costs less than
rounding by probability, and training does not mind.
"""

from __future__ import annotations

import torch


def compress(value: torch.Tensor) -> torch.Tensor:
    """The upper half of each float32, as int16: sign, exponent and 7 bits of the mantissa.

    A NaN whose distinguishing bits are all in the lower half stays one.
    """
    bits = value.contiguous().view(torch.int32)
    upper = bits >> 16
    nan = value.isnan()
    if nan.any():
        upper = torch.where(nan.view(bits.shape), upper | 0x40, upper)
    return upper.to(torch.int16)


def decompress(value: torch.Tensor) -> torch.Tensor:
    """float32 with zeros in the lower half."""
    return (value.to(torch.int32) << 16).view(torch.float32)
