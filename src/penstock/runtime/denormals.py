"""Numbers too small for a full mantissa: kept by default, as NumPy keeps them; TensorFlow's threads make them zero.

Computing with such numbers takes up to a hundred times as long on some processors, for instance when activations decay
to nothing. The processor's flag belongs to the calling thread; threads that it starts inherit it, but existing threads
of PyTorch's pool do not change.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch


def flushing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `fn` with denormal inputs and results treated as zeros; afterwards the calling thread treats them as
    before."""

    @functools.wraps(fn)
    def run(*args: Any) -> Any:
        if not sys.float_info.min * 0.5:
            return fn(*args)
        torch.set_flush_denormal(True)
        try:
            return fn(*args)
        finally:
            torch.set_flush_denormal(False)

    return run
