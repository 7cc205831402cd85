"""200 enqueues and 200 dequeues of a scalar, each a step of its own, from four threads."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from bench.workloads import queue_operations


def build(tf: ModuleType) -> Callable[[], float]:
    return queue_operations.build(tf, threads=4)
