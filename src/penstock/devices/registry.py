"""The types of devices, and the devices of a session. More types can be registered."""

from __future__ import annotations

from typing import Any

import torch

from penstock import errors
from penstock.devices import processors
from penstock.devices.cuda import CudaDevice
from penstock.devices.device import Device, DeviceFactory, device_name
from penstock.devices.host_memory import keep_freed_memory

_factories: dict[str, DeviceFactory] = {}


def register_device_type(name: str, factory: DeviceFactory) -> None:
    """Register a new type of device: sessions created from now on have the devices that `factory(config)` returns.

    Raises ValueError if the type is already registered.
    """
    if name in _factories:
        raise ValueError(f"device type {name!r} is already registered")
    _factories[name] = factory


def unregister_device_type(name: str) -> None:
    """Remove a type that `register_device_type` added."""
    del _factories[name]


def devices_for(config: Any = None) -> list[Device]:
    """All devices of a session with this ConfigProto, beginning with the first CPU.

    Raises InvalidArgumentError for an invalid number of devices.
    """
    found = [device for factory in _factories.values() for device in factory(config)]
    if not any(device.type == "CPU" for device in found):
        raise errors.InvalidArgumentError(None, None, "A session needs a CPU device: device_count['CPU'] is 0.")
    return found


def _wanted(config: Any, device_type: str, default: int) -> int:
    count = int(config.device_count[device_type]) if config is not None and device_type in config.device_count else -1
    if config is not None and device_type in config.device_count and count < 0:
        raise errors.InvalidArgumentError(None, None, f"device_count[{device_type!r}] is {count}")
    return default if count < 0 else count


def _cpus(config: Any) -> list[Device]:
    """`device_count['CPU']` placement domains that share the host's memory and divide its cores."""
    count = _wanted(config, "CPU", 1)
    threads = max(1, processors.threads() // count) if count > 1 else 0
    keep_freed_memory()
    cpu = torch.device("cpu")
    return [Device(device_name("CPU", i), "CPU", cpu, threads=threads) for i in range(count)]


def _gpus(config: Any) -> list[Device]:
    if not torch.cuda.is_available():
        return []
    return list(CudaDevice.found(config, _wanted(config, "GPU", torch.cuda.device_count())))


register_device_type("CPU", _cpus)
register_device_type("GPU", _gpus)
