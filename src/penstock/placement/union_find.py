"""Sets of numbers that are joined."""

from __future__ import annotations


class UnionFind:
    """Each of `count` numbers is in a set of its own at first."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))

    def find(self, i: int) -> int:
        """The number that stands for the set of `i`."""
        parent = self._parent
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    def join(self, a: int, b: int) -> int:
        """Make one set of two; what stood for that of `a` stands for it."""
        root = self.find(a)
        self._parent[self.find(b)] = root
        return root
