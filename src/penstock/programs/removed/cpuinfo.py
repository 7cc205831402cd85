"""What py-cpuinfo has renamed in 6.0, which TensorFlow's official models log: keys of what it finds."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from penstock.programs.report import REPORT

RENAMED = {
    "brand": "brand_raw",
    "vendor_id": "vendor_id_raw",
    "raw_arch_string": "arch_string_raw",
    "hardware": "hardware_raw",
    "hz_advertised_raw": "hz_advertised",
    "hz_actual_raw": "hz_actual",
}
"""By key until 5.0, the key of today. `hz_advertised` and `hz_actual` themselves are numbers now, and were texts."""


def _patch(cpuinfo: Any) -> None:
    found = cpuinfo.get_cpu_info

    @functools.wraps(found)
    def get_cpu_info() -> dict[str, Any]:
        info = found()
        old = {key: info[now] for key, now in RENAMED.items() if now in info and key not in info}
        if old:
            REPORT.note("cpuinfo.get_cpu_info")
        return {**info, **old}

    cpuinfo.get_cpu_info = get_cpu_info


PATCHES: dict[str, Callable[[Any], None]] = {"cpuinfo": _patch}
