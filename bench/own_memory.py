"""A device for measuring memory on a machine without an accelerator."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from penstock.devices.device import Device, device_name


class OwnMemory(Device):
    """An accelerator with regard to memory: received tensors are copied, and counted until they are freed."""

    def __init__(self) -> None:
        super().__init__(device_name("NPU", 0), "NPU", torch.device("cpu", 0), kernel_type="CPU")
        self.now = self.peak = 0

    @property
    def shares_memory(self) -> bool:
        return False

    def receive(self, value: Any, source: Device) -> Any:
        copy = value.clone()
        self.now += copy.nbytes
        self.peak = max(self.peak, self.now)
        weakref.finalize(copy.untyped_storage(), self._freed, copy.nbytes)
        return copy

    def _freed(self, nbytes: int) -> None:
        self.now -= nbytes

    def memory_in_use(self) -> tuple[int, int]:
        return self.now, self.peak
