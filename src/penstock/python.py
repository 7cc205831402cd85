"""What programs import from inside TensorFlow because no public name has it: `tensorflow.python.client`'s timelines and
devices."""

from __future__ import annotations

from typing import Any, NamedTuple

from penstock.api.old_paths import add_module
from penstock.devices.device import HOST_PREFIX
from penstock.session.session import Session
from penstock.session.step_timeline import StepTimeline

__path__: list[str] = []  # the modules below are submodules


class LocalDevice(NamedTuple):
    """A device, with the fields of TensorFlow's message DeviceAttributes."""

    name: str
    device_type: str
    memory_limit: int
    incarnation: int
    physical_device_desc: str = ""


def list_local_devices(session_config: Any = None) -> list[LocalDevice]:
    """The devices of this process (TF: tensorflow.python.client.device_lib)."""
    with Session(config=session_config) as session:
        return [
            LocalDevice(
                device.name.removeprefix(HOST_PREFIX), device.device_type, device.memory_limit_bytes, device.incarnation
            )
            for device in session.list_devices()
        ]


add_module(f"{__name__}.client.timeline", Timeline=StepTimeline)
add_module(f"{__name__}.client.device_lib", list_local_devices=list_local_devices)
