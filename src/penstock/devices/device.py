"""Devices (white paper section 3): each is responsible for its memory and for running kernels on it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

from penstock import errors
from penstock.devices import processors
from penstock.devices.host_memory import keep_freed_memory
from penstock.devices.openmp import Threads

HOST_PREFIX = "/job:localhost/replica:0/task:0"

_incarnations = itertools.count(1)


@dataclass(frozen=True, slots=True)
class DeviceAttributes:
    """A device as `Session.list_devices` shows it. `memory_limit_bytes` 0: no limit of its own."""

    name: str
    device_type: str
    memory_limit_bytes: int = 0
    incarnation: int = 1


class Device:
    """One device: its full name, its type, and torch's device that its kernels and tensors use.

    memory_limit: bytes that placement may count on; 0: what the machine has. threads: of a kernel that runs on it;
    0: torch's own number. kernel_type: the kind of kernels that it runs ("CPU" or "GPU"): a device type of its own
    may use those of another.
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
        """Whether what is received from other devices of this process takes no memory of its own."""
        return self.torch.type == "cpu"

    @property
    def runs_anywhere(self) -> bool:
        """Whether any thread may launch kernels as it is, without `running`."""
        return not self.threads

    def running(self) -> contextlib.AbstractContextManager[Any]:
        """What a thread enters to launch kernels on this device."""
        return Threads(self.threads) if self.threads else contextlib.nullcontext()

    def receive(self, value: Any, source: Device) -> Any:
        """`value`, which is on `source`, on its way to this device. Host memory is shared, not copied."""
        return source.to_host(value)

    def arrived(self, value: Any) -> Any:
        """What `receive` gave, ready for the kernels of this device; called where they are launched."""
        return value

    def to_host(self, value: Any) -> Any:
        """`value`, which is here, in host memory."""
        return value.to("cpu") if isinstance(value, torch.Tensor) else value

    def memory_in_use(self) -> tuple[int, int]:
        """Bytes held now, and the most since the start; zeros where the device does not count them."""
        return 0, 0

    def __repr__(self) -> str:
        return f"<Device {self.name}>"


# --- device types ---------------------------------------------------------------------------------------

DeviceFactory = Callable[[Any], Iterable[Device]]
"""From a ConfigProto (or None) to the devices of one type that this process has."""

_factories: dict[str, DeviceFactory] = {}


def register_device_type(name: str, factory: DeviceFactory) -> None:
    """Make a new type of device known: sessions made from now on have what `factory(config)` gives.

    ValueError when the type is there already.
    """
    if name in _factories:
        raise ValueError(f"device type {name!r} is already registered")
    _factories[name] = factory


def unregister_device_type(name: str) -> None:
    """Forget a type that `register_device_type` made known."""
    del _factories[name]


def devices_for(config: Any = None) -> list[Device]:
    """All devices of a session with this ConfigProto, the first CPU first.

    InvalidArgumentError for a number of devices that makes no sense.
    """
    found = [device for factory in _factories.values() for device in factory(config)]
    if not any(device.type == "CPU" for device in found):
        raise errors.InvalidArgumentError(None, None, "A session needs a CPU device: device_count['CPU'] is 0.")
    return found


def device_name(device_type: str, index: int) -> str:
    return f"{HOST_PREFIX}/device:{device_type}:{index}"


def _wanted(config: Any, device_type: str, default: int) -> int:
    count = int(config.device_count[device_type]) if config is not None and device_type in config.device_count else -1
    if config is not None and device_type in config.device_count and count < 0:
        raise errors.InvalidArgumentError(None, None, f"device_count[{device_type!r}] is {count}")
    return default if count < 0 else count


def _cpus(config: Any) -> list[Device]:
    """`device_count['CPU']` domains of placement that share the host's memory, and divide its cores."""
    count = _wanted(config, "CPU", 1)
    threads = max(1, processors.threads() // count) if count > 1 else 0
    keep_freed_memory()
    cpu = torch.device("cpu")
    return [Device(device_name("CPU", i), "CPU", cpu, threads=threads) for i in range(count)]


def _gpus(config: Any) -> list[Device]:
    if not torch.cuda.is_available():
        return []
    from penstock.devices.cuda import CudaDevice

    return list(CudaDevice.found(config, _wanted(config, "GPU", torch.cuda.device_count())))


register_device_type("CPU", _cpus)
register_device_type("GPU", _gpus)
