"""What h5py has removed in version 3."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from penstock.programs.report import REPORT


def _value(self: Any) -> Any:
    REPORT.use("h5py.Dataset.value", sys._getframe(1))
    return self[()]


def _fid(self: Any) -> Any:
    REPORT.use("h5py.File.fid", sys._getframe(1))
    return self.id


def _patch(module: Any) -> None:
    if not hasattr(module.Dataset, "value"):
        module.Dataset.value = property(_value)
    if not hasattr(module.File, "fid"):
        module.File.fid = property(_fid)


PATCHES: dict[str, Callable[[Any], None]] = {"h5py": _patch}
