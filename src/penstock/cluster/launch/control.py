"""The other end of a keeper: what programs and commands ask it."""

from __future__ import annotations

import socket
import threading
from typing import Any, Self

from penstock import errors
from penstock.cluster.launch import places
from penstock.cluster.launch.loop import Lines

_PATIENCE_S = 30.0


class Control:
    """Asks the keeper of a cluster, one question at a time."""

    def __init__(self, connection: socket.socket, name: str) -> None:
        self._lines, self._name = Lines(connection), name
        self._lock = threading.Lock()
        self._last = 0

    @staticmethod
    def of(name: str) -> Control:
        """Raises NotFoundError if no cluster of that name runs on this machine."""
        return Control(places.connect(name), name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def begin(self, message: Any, patience: float) -> None:
        """The first message, to a keeper that has just been started. Raises the error that made it give up."""
        with self._lock:
            self._lines.send(message)
            self._reply(0, patience)

    def ask(self, what: str, patience: float = _PATIENCE_S, **details: Any) -> Any:
        """Raises the keeper's error, UnavailableError if it is gone, and DeadlineExceededError if it says nothing."""
        with self._lock:
            self._last += 1
            try:
                self._lines.send({"id": self._last, "do": what, **details})
            except OSError:
                raise self._gone() from None
            return self._reply(self._last, patience)

    def close(self) -> None:
        self._lines.socket.close()

    def _reply(self, number: int, patience: float) -> Any:
        self._lines.socket.settimeout(patience)
        while True:
            try:
                replies = self._lines.receive()
            except TimeoutError:
                raise errors.DeadlineExceededError(
                    None, None, f"The keeper of cluster {self._name!r} has not answered for {patience:g} s."
                ) from None
            except OSError:
                replies = None
            if replies is None:
                raise self._gone()
            for reply in replies:
                if reply["id"] != number:  # to a question that was given up, by Ctrl-C
                    continue
                if "error" in reply:
                    code, message = reply["error"]
                    raise errors.exception_type_from_error_code(code)(None, None, message)
                return reply["value"]

    def _gone(self) -> errors.OpError:
        return errors.UnavailableError(None, None, f"Cluster {self._name!r} has ended.")
