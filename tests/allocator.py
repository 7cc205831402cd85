"""How much memory torch's allocator gives out, for tests that compare it with what is predicted."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import torch


def allocated(run: Callable[[], Any]) -> int:
    """The most bytes that torch's allocator had given out while `run` ran, beyond those before."""
    gc.collect()
    with torch.profiler.profile(profile_memory=True, acc_events=True) as profile:
        run()
    now = peak = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            now += event.nbytes()
            peak = max(peak, now)
    return peak
