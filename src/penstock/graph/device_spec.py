"""Device names such as "/job:worker/task:17/device:GPU:3", whole or partial."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from penstock.export import export

_SHORT_TYPES = frozenset({"CPU", "GPU", "TPU"})  # "/cpu:0" may stand for "/device:CPU:0"
_JOB = re.compile(r"[A-Za-z0-9_.\-]+|\*")
_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_]*|\*")

_Fields = tuple[str | None, int | None, int | None, str | None, int | None]


@export("DeviceSpec")
class DeviceSpec:
    """A device name in parts; a part that is None is left open.

    Also a constraint: it admits the devices that agree with every part it sets. As in TensorFlow 1.x a
    spec can be changed, so one used as a key must be left alone.
    """

    __slots__ = ("_device_index", "_device_type", "_job", "_replica", "_task")

    _job: str | None
    _replica: int | None
    _task: int | None
    _device_type: str | None
    _device_index: int | None

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        self.job = job
        self.replica = replica
        self.task = task
        self.device_type = device_type
        self.device_index = device_index

    @property
    def job(self) -> str | None:
        return self._job

    @job.setter
    def job(self, job: str | None) -> None:
        self._job = None if job is None else str(job)

    @property
    def replica(self) -> int | None:
        return self._replica

    @replica.setter
    def replica(self, replica: int | None) -> None:
        self._replica = None if replica is None else int(replica)

    @property
    def task(self) -> int | None:
        return self._task

    @task.setter
    def task(self, task: int | None) -> None:
        self._task = None if task is None else int(task)

    @property
    def device_type(self) -> str | None:
        """The type: "CPU", "GPU" and "TPU" always in capitals, others as written."""
        return self._device_type

    @device_type.setter
    def device_type(self, device_type: str | None) -> None:
        self._device_type = None if device_type is None else _normal_type(str(device_type))

    @property
    def device_index(self) -> int | None:
        return self._device_index

    @device_index.setter
    def device_index(self, device_index: int | None) -> None:
        self._device_index = None if device_index is None else int(device_index)

    @classmethod
    def from_string(cls, spec: str | None) -> DeviceSpec:
        """Raises ValueError, naming `spec`, if it is malformed. None and "" leave every part open."""
        return cls(*_parse(spec or ""))

    def parse_from_string(self, spec: str | None) -> DeviceSpec:
        """Take every part from `spec`, including open ones, and return self."""
        self._set_fields(_parse(spec or ""))
        return self

    def to_string(self) -> str:
        """The canonical name; an open index is "*", and an index without a type is left out."""
        parts = []
        if self._job is not None:
            parts.append(f"/job:{self._job}")
        if self._replica is not None:
            parts.append(f"/replica:{self._replica}")
        if self._task is not None:
            parts.append(f"/task:{self._task}")
        if self._device_type is not None:
            index = "*" if self._device_index is None else self._device_index
            parts.append(f"/device:{self._device_type}:{index}")
        return "".join(parts)

    def merge_from(self, dev: DeviceSpec) -> None:
        """Take each part that `dev` sets. The index is a part, so "/cpu:0" merged with "/gpu:*" is GPU 0."""
        self._set_fields(_merged(self._fields(), dev._fields()))

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """Like `merge_from`, but returns a new spec."""
        return type(self)(*_merged(self._fields(), dev._fields()))

    def replace(self, **parts: Any) -> DeviceSpec:
        """A copy with the named parts changed."""
        job, replica, task, device_type, device_index = self._fields()
        now = {
            "job": job,
            "replica": replica,
            "task": task,
            "device_type": device_type,
            "device_index": device_index,
        }
        return type(self)(**(now | parts))

    def is_compatible_with(self, other: DeviceSpec | str) -> bool:
        """Whether every part set here is the same in `other`, usually a device's full name.

        A job or type of "*" counts as not set.
        """
        theirs = other._fields() if isinstance(other, DeviceSpec) else _parse(other)
        return all(
            mine is None or mine == "*" or mine == their for mine, their in zip(self._fields(), theirs, strict=True)
        )

    matches = is_compatible_with

    def _fields(self) -> _Fields:
        return self._job, self._replica, self._task, self._device_type, self._device_index

    def _set_fields(self, fields: _Fields) -> None:
        self._job, self._replica, self._task, self._device_type, self._device_index = fields

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeviceSpec):
            return NotImplemented
        return self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def __repr__(self) -> str:
        return (
            f"<DeviceSpec(job={self._job}, replica={self._replica}, task={self._task}, "
            f"device_type={self._device_type}, device_index={self._device_index})>"
        )


def _normal_type(device_type: str) -> str:
    upper = device_type.upper()
    return upper if upper in _SHORT_TYPES else device_type


def _merged(outer: _Fields, inner: _Fields) -> _Fields:
    job, replica, task, device_type, device_index = outer
    return (
        job if inner[0] is None else inner[0],
        replica if inner[1] is None else inner[1],
        task if inner[2] is None else inner[2],
        device_type if inner[3] is None else inner[3],
        device_index if inner[4] is None else inner[4],
    )


@lru_cache(maxsize=4096)
def _parse(spec: str) -> _Fields:
    job: str | None = None
    device_type: str | None = None
    device_index: int | None = None
    numbers: dict[str, int | None] = {"replica": None, "task": None}
    for part in spec.split("/"):
        if not part:  # before the first slash, or after a last one
            continue
        match part.split(":"):
            case ["job", name] if _JOB.fullmatch(name):
                job = name
            case ["replica" | "task" as key, number]:
                numbers[key] = _number(number, part, spec)
            case ["device", kind, index] if _TYPE.fullmatch(kind):
                _refuse_second_type(device_type, spec)
                device_type, device_index = _normal_type(kind), _number(index, part, spec)
            case [kind] if kind.upper() in _SHORT_TYPES:
                _refuse_second_type(device_type, spec)
                device_type = kind.upper()
            case [kind, index] if kind.upper() in _SHORT_TYPES:
                _refuse_second_type(device_type, spec)
                device_type, device_index = kind.upper(), _number(index, part, spec)
            case _:
                raise ValueError(f"Unknown part {part!r} in the device name {spec!r}")
    return job, numbers["replica"], numbers["task"], device_type, device_index


def _number(text: str, part: str, spec: str) -> int | None:
    if text == "*":
        return None
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text!r} is not a number, in part {part!r} of the device name {spec!r}")
    return int(text)


def _refuse_second_type(device_type: str | None, spec: str) -> None:
    if device_type is not None:
        raise ValueError(f"More than one device type in the device name {spec!r}")


def canonical_name(device: DeviceSpec | str | None) -> str:
    """The full spelling: "/cpu:0" becomes "/device:CPU:0", and None becomes the empty name."""
    if device is None:
        return ""
    if isinstance(device, DeviceSpec):
        return device.to_string()
    return DeviceSpec.from_string(device).to_string()


def merge_device(spec: DeviceSpec | str | None) -> Callable[[Any], DeviceSpec]:
    """A device function: it takes the parts that a node's `device` leaves open from `spec`.

    Malformed names raise ValueError; a malformed `spec` does so immediately.
    """
    outer = spec._fields() if isinstance(spec, DeviceSpec) else _parse(spec or "")

    def device_of(node_def: Any) -> DeviceSpec:
        return DeviceSpec(*_merged(outer, _parse(node_def.device or "")))

    return device_of


def short_device(device: str) -> str:
    """`/device:CPU:0` of this process; otherwise the task, too."""
    return device.removeprefix("/job:localhost/replica:0/task:0").replace("/replica:0", "") or device
