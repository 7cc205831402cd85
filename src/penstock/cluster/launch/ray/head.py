"""Whether Ray's head still runs: without it, calls that need it block, and after a minute end the process."""

from __future__ import annotations

import socket
import time

from penstock.cluster.spec import host_and_port

_LOOK_S = 1.0
_PATIENCE_S = 0.5


class Head:
    def __init__(self, address: str) -> None:
        self.address = address
        self._heard = self._looked = time.monotonic()

    @property
    def silent_s(self) -> float:
        return self._looked - self._heard

    def answers(self, longest_ago: float = _LOOK_S) -> bool:
        """Whether it did when somebody looked last, which is at most so many seconds ago."""
        if time.monotonic() - self._looked >= longest_ago:
            self._looked = time.monotonic()
            try:
                socket.create_connection(host_and_port(self.address), timeout=_PATIENCE_S).close()
                self._heard = self._looked
            except OSError:
                pass
        return self._heard == self._looked
