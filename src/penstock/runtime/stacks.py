"""The stacks of loops, which live for one step.

A resource edge carries the object itself, so it is freed with the last value that refers to it, and concurrent steps
have their own. White paper section 4.4: the forward loop saves what a gradient loop needs.
"""

from __future__ import annotations

from typing import Any

import torch

from penstock import errors
from penstock.runtime.failures import invalid
from penstock.tensor.dtypes import DType

SWAP_BYTES = 2048
"""Smaller tensors stay on the device: moving them is not worth it."""


class Swapped:
    """A tensor of an accelerator, kept in host memory."""

    __slots__ = ("device", "value")

    def __init__(self, tensor: torch.Tensor) -> None:
        self.device = tensor.device
        self.value = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        self.value.copy_(tensor, non_blocking=True)  # in stream order, like everything that follows

    def back(self) -> torch.Tensor:
        return self.value.to(self.device, non_blocking=True)


class Stack:
    """Values of one dtype, last in, first out. `max_size` below zero: no limit."""

    __slots__ = ("closed", "dtype", "max_size", "name", "values")

    def __init__(self, name: str, dtype: DType, max_size: int = -1) -> None:
        self.name, self.dtype, self.max_size = name, dtype, max_size
        self.values: list[Any] = []
        self.closed = False

    def push(self, value: Any) -> Any:
        """Push `value` and return it. Raises InvalidArgumentError if the stack is full or closed."""
        if self.closed:
            raise self._closed()
        if len(self.values) == self.max_size:
            raise invalid(f"Stack[{self.name}] overflowed its max_size ({self.max_size})")
        self.values.append(value)
        return value

    def swap_out(self, value: torch.Tensor) -> torch.Tensor:
        """Like `push`, but keeps a copy in host memory of a tensor on an accelerator."""
        if value.is_cuda and value.nbytes > SWAP_BYTES:
            self.push(Swapped(value))
            return value
        return self.push(value)

    def pop(self) -> Any:
        """Pops the value pushed last. Raises InvalidArgumentError if there is none."""
        if not self.values:
            raise (self._closed() if self.closed else invalid(f"Stack[{self.name}] is empty when calling Pop()."))
        value = self.values.pop()
        return value.back() if type(value) is Swapped else value

    def close(self) -> None:
        """Discard all values, and accept no more."""
        self.closed = True
        self.values = []

    def wrong_dtype(self, dtype: DType) -> errors.InvalidArgumentError:
        return invalid(f"Stack[{self.name}] holds {self.dtype.name}, but the op is for {dtype.name}")

    def _closed(self) -> errors.InvalidArgumentError:
        return invalid(f"Stack[{self.name}] has already been closed.")
