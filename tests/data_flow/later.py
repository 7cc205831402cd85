"""Calls in threads that no test waits for without end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

LIMIT = 30.0


class Later:
    """A call in a thread of its own."""

    def __init__(self, call: Callable[..., Any], *args: Any) -> None:
        self._value: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(call, *args), daemon=True)
        self._thread.start()

    def _run(self, call: Callable[..., Any], *args: Any) -> None:
        try:
            self._value = call(*args)
        except BaseException as error:
            self._error = error

    def waits(self, seconds: float = 0.2) -> bool:
        """Whether it has not returned after some time."""
        time.sleep(seconds)
        return self._thread.is_alive()

    def result(self) -> Any:
        """What the call returned or raised; TimeoutError if it does not end."""
        self._thread.join(LIMIT)
        if self._thread.is_alive():
            raise TimeoutError("the call does not return")
        if self._error is not None:
            raise self._error
        return self._value
