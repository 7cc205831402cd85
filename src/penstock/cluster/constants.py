"""Large constants of steps: a task gets each once in a session, and later steps name it by its digest."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

_LARGE = 1 << 14
"""From so many bytes on, a constant is worth a digest."""


@dataclass(frozen=True, slots=True)
class Digest:
    """In place of a constant, in parts that travel."""

    bytes: bytes


def is_large(value: Any) -> bool:
    return isinstance(value, np.ndarray | torch.Tensor) and value.nbytes >= _LARGE and value.dtype != object


_known: dict[int, tuple[weakref.ref[Any], bytes]] = {}


def digest_of(value: Any) -> bytes:
    """Of dtype, shape and content. Remembered while the value lives: constants of graphs never change."""
    known = _known.get(id(value))
    if known is not None and known[0]() is value:
        return known[1]
    made = hashlib.blake2b(f"{type(value).__name__} {value.dtype} {tuple(value.shape)} ".encode(), digest_size=16)
    made.update(_bytes_of(value).data)
    number = id(value)
    _known[number] = weakref.ref(value, lambda gone: _forget(number, gone)), made.digest()
    return made.digest()


def _bytes_of(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        if not value.numel():
            return np.empty(0, np.uint8)  # NumPy's empty arrays have strides of 0, which torch does not view so
        return value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    return np.ascontiguousarray(value).reshape(-1).view(np.uint8)


def _forget(number: int, gone: weakref.ref[Any]) -> None:
    known = _known.get(number)
    if known is not None and known[0] is gone:
        del _known[number]


class Constants:
    """Which large constants a task has of a session, and the plans that use each: the master's record, and the task's.

    Both sides are told the same in the same order, so they agree. What no plan uses is dropped.
    """

    def __init__(self) -> None:
        self.values: dict[bytes, Any] = {}
        """At the master, None for each."""
        self._users: dict[bytes, set[int]] = {}
        self._lock = threading.Lock()

    def use(self, plan: int, digest: bytes, value: Any) -> None:
        """`plan` uses a constant; of one that is there, `value` is ignored."""
        with self._lock:
            self.values.setdefault(digest, value)
            self._users.setdefault(digest, set()).add(plan)

    def forget(self, plans: Iterable[int]) -> None:
        """These plans are gone."""
        gone = set(plans)
        with self._lock:
            for digest, users in list(self._users.items()):
                users -= gone
                if not users:
                    del self._users[digest], self.values[digest]

    def clear(self) -> None:
        with self._lock:
            self.values.clear()
            self._users.clear()
