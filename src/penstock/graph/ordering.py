"""Sorting items with dependencies."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


def in_order(items: Sequence[T], before: Mapping[T, Iterable[T]]) -> list[T]:
    """Sorts `items` so that each follows those that must come `before` it, and otherwise keeps their order.

    Items in cycles, and those that wait for them, are left out.
    """
    place = {item: i for i, item in enumerate(items)}
    waiting = dict.fromkeys(items, 0)
    users: dict[T, list[T]] = {}
    for item in items:
        for source in before.get(item, ()):
            if source in place:
                users.setdefault(source, []).append(item)
                waiting[item] += 1
    ready = [place[item] for item in items if not waiting[item]]
    heapq.heapify(ready)
    found = []
    while ready:
        item = items[heapq.heappop(ready)]
        found.append(item)
        for user in users.get(item, ()):
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, place[user])
    return found
