"""Random numbers of Gym's environments as until 0.21: NumPy's RandomState, and the same numbers for a seed.

A seed is hashed, so that neighbouring seeds give numbers that have nothing to do with each other.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any

import numpy as np


class Random(np.random.RandomState):
    """Environments of today, which draw from it, find the methods of NumPy's Generator that they use."""

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        low, high = (0, low) if high is None else (low, high)
        return self.randint(low, high + 1 if endpoint else high, size, dtype)


def create_seed(a: Any = None, max_bytes: int = 8) -> int:
    """A whole number of at most so many bytes: of the machine's randomness, of a text or of a number."""
    if a is None:
        return int.from_bytes(os.urandom(max_bytes), "little")
    if isinstance(a, str):
        text = a.encode()
        return int.from_bytes((text + hashlib.sha512(text).digest())[:max_bytes], "little")
    return int(a) % 2 ** (8 * max_bytes)


def hash_seed(seed: Any = None, max_bytes: int = 8) -> int:
    hashed = hashlib.sha512(str(create_seed(max_bytes=max_bytes) if seed is None else seed).encode()).digest()
    return int.from_bytes(hashed[:max_bytes], "little")


def np_random(seed: Any = None) -> tuple[Random, int]:
    """What `env.seed(seed)` makes, and the seed. Raises ValueError for a negative one."""
    if seed is not None and not (isinstance(seed, int | np.integer) and seed >= 0):
        raise ValueError(f"Seed must be a non-negative integer or omitted, not {seed}")
    found = create_seed(seed)
    hashed, parts = hash_seed(found), []
    while hashed:
        hashed, part = divmod(hashed, 2**32)
        parts.append(part)
    return Random(parts or [0]), found


SEEDING = {"np_random": np_random, "hash_seed": hash_seed, "create_seed": create_seed}
"""Members of `gym.utils.seeding`."""


def draws_as_then(env: Any) -> bool:
    """Whether a library's environment draws all its numbers from `env.np_random`: Atari's games have seeds of their
    own."""
    return type(env).__module__.startswith(("gym.", "gymnasium."))


def give_random(env: Any) -> Any:
    """The RandomState of an environment of today, which is given one if it has none: seeded by the Generator that it
    has instead."""
    found = env.np_random
    if isinstance(found, np.random.RandomState):
        return found
    env.np_random, _ = np_random(found.integers(2**31))
    return env.np_random
