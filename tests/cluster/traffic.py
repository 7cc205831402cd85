"""What tests count on the wire."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.cluster.wire.peer import Peer


class Counter:
    """How many bytes this process has sent, in messages to all tasks, for steps."""

    def __init__(self) -> None:
        self.bytes = 0

    def since(self) -> int:
        """Since the last time."""
        found, self.bytes = self.bytes, 0
        return found


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Counter:
    counter = Counter()
    write = Peer._write

    def counted(
        self: Peer, kind: int, number: int, method: str, pickled: memoryview, beside: list[memoryview], *rest: Any
    ) -> None:
        if method != "ping":  # with which links are measured
            counter.bytes += len(pickled) + sum(view.nbytes for view in beside)
        write(self, kind, number, method, pickled, beside, *rest)

    monkeypatch.setattr(Peer, "_write", counted)
    return counter
