"""Sizes above which nodes are treated differently."""

from __future__ import annotations

THREADED_ELEMENTS = 1 << 15
"""The number of elements from which addition gains from threads; below it torch uses none."""
REGION_ELEMENTS = 100_000
"""Larger results are worth several threads, which torch's kernels use, so compiled regions do not take them."""
