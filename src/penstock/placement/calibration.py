"""How fast the devices of this machine are, measured once and kept in a file."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from penstock import errors
from penstock.checkpoint.replace import write_whole
from penstock.devices.device import Device
from penstock.export import export


@export("placement.Speeds")
@dataclass(frozen=True, slots=True)
class Speeds:
    """`flops`: multiplications and additions a second in large products. `bytes_per_second`: read and written by
    element-wise kernels. `launch`: seconds that any kernel takes."""

    flops: float
    bytes_per_second: float
    launch: float = 3e-6


_known: dict[str, Speeds] = {}


def calibrated(device: Device) -> Speeds:
    """The speeds of `device`, measured on first use (a tenth of a second) and kept in `calibration_file()`."""
    key = f"{device.type}/{device.torch}/{device.threads or torch.get_num_threads()} threads"
    if key not in _known:
        path = calibration_file()
        stored = _read(path)
        if key in stored:
            _known[key] = Speeds(**stored[key])
        else:
            _known[key] = measure(device)
            with contextlib.suppress(OSError, errors.OpError):  # a read-only home directory must not prevent running
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, json.dumps(stored | {key: asdict(_known[key])}, indent=1).encode())
    return _known[key]


def calibration_file() -> Path:
    """Where the speeds of this machine are kept: under PENSTOCK_CACHE, or the user's cache folder."""
    root = os.environ.get("PENSTOCK_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "penstock"
    )
    return Path(root) / f"calibration-{platform.node() or 'here'}-torch{torch.__version__}.json"


def _read(path: Path) -> dict[str, dict[str, float]]:
    try:
        found = json.loads(path.read_text())
        for speeds in found.values():
            Speeds(**speeds)
    except (OSError, ValueError, TypeError, AttributeError):
        return {}  # no file, or not of this version: measure again
    return dict(found)


def measure(device: Device) -> Speeds:
    """Time a matrix product, a large element-wise kernel and a tiny one."""
    with device.running(), torch.inference_mode():
        square = torch.rand(512, 512, device=device.torch)
        large = torch.rand(1 << 22, device=device.torch)
        out = torch.empty_like(large)
        small = torch.rand(8, device=device.torch)
        product = _best(lambda: torch.mm(square, square), device)
        copied = _best(lambda: torch.add(large, large, out=out), device)
        launch = _best(lambda: [torch.add(small, small) for _ in range(100)], device) / 100
    return Speeds(2 * 512**3 / product, 3 * large.nbytes / copied, launch)


def _best(fn: Callable[[], object], device: Device, repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        fn()
        if device.torch.type == "cuda":
            torch.cuda.synchronize(device.torch)
        times.append(time.perf_counter() - start)
    return max(min(times), 1e-9)
