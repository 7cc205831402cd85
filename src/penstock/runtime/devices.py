"""The devices of this process (white paper section 3): for now its CPU. Others come with placement."""

from __future__ import annotations

from dataclasses import dataclass

CPU_NAME = "/job:localhost/replica:0/task:0/device:CPU:0"


@dataclass(frozen=True, slots=True)
class DeviceAttributes:
    """A device as `Session.list_devices` shows it. `memory_limit_bytes` 0: no limit of its own."""

    name: str
    device_type: str
    memory_limit_bytes: int = 0
    incarnation: int = 1


def local_devices() -> list[DeviceAttributes]:
    return [DeviceAttributes(CPU_NAME, "CPU")]
