"""Devices (white paper section 3): each is responsible for its memory and for running kernels on it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

from penstock.devices.openmp import Threads

HOST_PREFIX = "/job:localhost/replica:0/task:0"

_incarnations = itertools.count(1)


@dataclass(frozen=True, slots=True)
class DeviceAttributes:
    """A device as `Session.list_devices` shows it. `memory_limit_bytes` 0: no separate limit."""

    name: str
    device_type: str
    memory_limit_bytes: int = 0
    incarnation: int = 1


class Device:
    """One device: its full name, its type, and the torch device that its kernels and tensors use.

    memory_limit: bytes that placement may count on; 0: what the machine has. threads: how many a kernel on it uses; 0:
    torch's default. kernel_type: the kind of kernels that it runs ("CPU" or "GPU"): a custom device type may use those
    of another.
    """

    def __init__(
        self,
        name: str,
        device_type: str,
        torch_device: torch.device,
        memory_limit: int = 0,
        threads: int = 0,
        kernel_type: str = "",
    ) -> None:
        self.name = name
        self.type = device_type
        self.torch = torch_device
        self.memory_limit = memory_limit
        self.threads = threads
        self.kernel_type = kernel_type or device_type
        self.incarnation = next(_incarnations)

    @property
    def attributes(self) -> DeviceAttributes:
        return DeviceAttributes(self.name, self.type, self.memory_limit, self.incarnation)

    @property
    def shares_memory(self) -> bool:
        """Whether values received from other devices of this process share the sender's memory."""
        return self.torch.type == "cpu"

    @property
    def runs_anywhere(self) -> bool:
        """Whether any thread may launch kernels without entering `running`."""
        return not self.threads

    def running(self) -> contextlib.AbstractContextManager[Any]:
        """A context manager that a thread enters to launch kernels on this device."""
        return Threads(self.threads) if self.threads else contextlib.nullcontext()

    def receive(self, value: Any, source: Device) -> Any:
        """Starts moving `value` from `source` to this device. Host memory is shared, not copied."""
        return source.to_host(value)

    def arrived(self, value: Any) -> Any:
        """Makes what `receive` returned ready for this device's kernels; called by the thread that launches them."""
        return value

    def to_host(self, value: Any) -> Any:
        """Returns `value`, which is on this device, in host memory."""
        return value.to("cpu") if isinstance(value, torch.Tensor) else value

    def memory_in_use(self) -> tuple[int, int]:
        """Bytes in use now, and the peak since the start; zeros if the device does not count them."""
        return 0, 0

    def __repr__(self) -> str:
        return f"<Device {self.name}>"


# --- device types ---------------------------------------------------------------------------------------

DeviceFactory = Callable[[Any], Iterable[Device]]
"""A function from a ConfigProto (or None) to the devices of one type in this process."""


def device_name(device_type: str, index: int) -> str:
    return f"{HOST_PREFIX}/device:{device_type}:{index}"
