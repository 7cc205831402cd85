"""What kernels allocate, measured while they run."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


@dataclass(slots=True)
class Use:
    """Bytes that a node allocated: the total, the peak, and what is still `live`. `in_use`: the peak of all values
    while it ran."""

    total: int = 0
    peak: int = 0
    live: int = 0
    in_use: int = 0


class Allocations(TorchDispatchMode):
    """While entered, tracks the tensors that kernels allocate in this thread until they are freed.

    `uses` has an entry for each call of `begin`. It costs each torch call a few microseconds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.uses: list[Use] = [Use()]
        self._now = 0

    def begin(self) -> None:
        """Called when a node starts."""
        self.uses.append(Use(in_use=self._now))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        given = _storages((args, kwargs))
        for key, storage in _storages(found).items():
            if key not in given:  # neither a view nor an argument that is written to
                self._add(storage)
        return found

    def _add(self, storage: Any) -> None:
        use, size = self.uses[-1], storage.nbytes()
        use.total += size
        use.live += size
        use.peak = max(use.peak, use.live)
        self._now += size
        use.in_use = max(use.in_use, self._now)
        weakref.finalize(storage, self._freed, use, size)

    def _freed(self, use: Use, size: int) -> None:
        use.live -= size
        self._now -= size


def _storages(value: Any) -> dict[int, Any]:
    """The memory of all tensors in a nest of values, by what is the same for all views of it."""
    storages = (leaf.untyped_storage() for leaf in tree_leaves(value) if isinstance(leaf, Tensor))
    return {storage._cdata: storage for storage in storages}
