"""Threads and streams in tests: what fails or is written there is seen by the test (TF: tf.test.TestCase)."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
import unittest
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any


class CheckedThread:
    """A thread whose error fails the test that joins it. It must be joined."""

    def __init__(
        self,
        case: unittest.TestCase,
        target: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> None:
        self._case, self._call = case, lambda: target(*args, **kwargs)
        self._thread = threading.Thread(target=self._run)
        self._error: BaseException | None = None
        self._joined = False

    def _run(self) -> None:
        try:
            self._call()
        except BaseException as error:
            self._error = error

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._joined = True
        self._thread.join()
        if self._error is not None:
            self._case.fail(f"Error in checkedThread: {self._error!r}")

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def check_joined(self) -> None:
        """Fail the test if the thread was started but not joined."""
        if self._thread.ident is not None and not self._joined:
            self._case.fail("A checked thread was not joined.")


class CapturedWrites:
    """What was written to a stream."""

    def __init__(self, path: str) -> None:
        self._path = path

    def contents(self) -> str:
        return Path(self._path).read_text()


@contextlib.contextmanager
def captured(stream: Any, folder: str) -> Iterator[CapturedWrites]:
    """Send what is written to the stream's file, by whatever process or library, to a new file in `folder`."""
    stream.flush()
    sys.stdout.flush()
    number, kept = stream.fileno(), os.dup(stream.fileno())
    file, path = tempfile.mkstemp(dir=folder)
    os.dup2(file, number)
    try:
        yield CapturedWrites(path)
    finally:
        stream.flush()
        os.dup2(kept, number)
        os.close(kept)
        os.close(file)
