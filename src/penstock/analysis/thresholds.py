"""Sizes from which nodes are treated in another way, by whoever asks."""

from __future__ import annotations

THREADED_ELEMENTS = 1 << 15
"""Elements from which addition gains from threads; below them torch uses none."""
REGION_ELEMENTS = 100_000
"""Larger results are worth several threads, which the kernels of torch use, so no compiled region takes them."""
