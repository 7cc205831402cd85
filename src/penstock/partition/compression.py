"""Lossy compression of values sent between machines (white paper section 5.5): float32 as 16 bits.

As in the paper, the mantissa is truncated before sending and filled with zeros on arrival. This is cheaper than
stochastic rounding, and training tolerates it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from penstock.export import export
from penstock.graph.transfer_ops import COMPRESS
from penstock.ops.basic import identity

if TYPE_CHECKING:
    from penstock.graph.operation import Tensor


@export("placement.compress_transfers")
def compress_transfers(input: Any, name: str | None = None) -> Tensor:
    """The same float32 values, which lose their lower 16 bits when they are sent to another device.

    This applies to one edge: consumers of the result on other devices receive it compressed; those on its own device
    lose nothing. `ConfigProto.graph_options.enable_bfloat16_sendrecv` applies it to a whole session.
    """
    output = identity(input, name=name)
    output.op._set_attr(COMPRESS, True)
    return output


def compress(value: torch.Tensor) -> torch.Tensor:
    """The upper half of each float32, as int16: sign, exponent and 7 bits of the mantissa.

    A NaN whose set mantissa bits are all in the lower half remains a NaN.
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
