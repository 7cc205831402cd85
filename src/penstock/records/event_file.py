"""Event files: records of Event messages, written by a thread so that training does not wait for the disk.

TensorBoard's `EventFileWriter` is not used because making one imports TensorFlow if that is installed, and because its
`RecordWriter` computes checksums in Python, 80 ns for each byte: 40 ms for the histograms of a network, 1 s for a graph
of 12 MB. Folders may be URLs (`gs://`, `memory://`), through fsspec.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import socket
import threading
import time
import weakref
from typing import Any

from tensorboard.compat.proto import event_pb2

from penstock.checkpoint.remote import as_os_error
from penstock.records.tfrecord import framed

_count = itertools.count()


class _Remote:
    """A file of another file system, which grows with every flush: what is there then can be read."""

    def __init__(self, url: str) -> None:
        import fsspec

        self._url, self._pending = url, bytearray()
        with as_os_error(url):
            self._fs, self._path = fsspec.core.url_to_fs(url)
            self._fs.makedirs(self._path.rpartition("/")[0], exist_ok=True)
            self._fs.pipe_file(self._path, b"")

    def write(self, data: bytes) -> None:
        self._pending += data

    def flush(self) -> None:
        data, self._pending = bytes(self._pending), bytearray()
        with as_os_error(self._url):
            try:
                with self._fs.open(self._path, "ab") as file:
                    file.write(data)
            except (NotImplementedError, ValueError):  # object stores replace files as a whole
                self._fs.pipe_file(self._path, self._fs.cat_file(self._path) + data)

    def close(self) -> None:
        if self._pending:
            self.flush()


def _open(path: str) -> Any:
    if "://" in path:
        return _Remote(path)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    return open(path, "wb")


class _Worker(threading.Thread):
    """Writes events, and flushes on request or after `flush_secs`."""

    def __init__(self, path: str, max_queue: int, flush_secs: float) -> None:
        super().__init__(name="penstock-events", daemon=True)
        self.path = path
        self.error: Exception | None = None
        self._queue: queue.Queue[bytes | threading.Event | None] = queue.Queue(max(1, max_queue))
        self._flush_secs = flush_secs
        self._file = _open(path)
        self.start()

    def write(self, record: bytes) -> None:
        self._check()
        self._queue.put(record)

    def flush(self) -> None:
        """Returns when everything written before is in the file."""
        done = threading.Event()
        self._queue.put(done)
        done.wait()
        self._check()

    def close(self) -> None:
        if self.is_alive():
            self._queue.put(None)
            self.join()

    def _check(self) -> None:
        if self.error is not None:
            raise self.error

    def run(self) -> None:
        flush_at = time.monotonic() + self._flush_secs
        with contextlib.closing(self._file):
            while True:
                item: Any = b""
                with contextlib.suppress(queue.Empty):
                    item = self._queue.get(timeout=max(0.0, flush_at - time.monotonic()))
                try:
                    if isinstance(item, bytes) and item and self.error is None:
                        self._file.write(framed([item]))
                    if not isinstance(item, bytes) or time.monotonic() >= flush_at:
                        self._file.flush()
                        flush_at = time.monotonic() + self._flush_secs
                except OSError as error:
                    self.error = error  # raised by the next call; the thread continues so that callers do not hang
                if item is None:
                    return
                if isinstance(item, threading.Event):
                    item.set()


class EventFile:
    """One event file of a directory (or its URL), which is created if needed.

    Events are in the file after `flush` or `close`, after `flush_secs`, and when the program ends.
    """

    def __init__(
        self,
        logdir: str,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
        prefix: str = "events",
    ) -> None:
        name = f"{prefix}.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(_count)}"
        self.path = os.path.join(logdir, name + filename_suffix)
        self._worker = _Worker(self.path, max_queue, flush_secs)
        self._close = weakref.finalize(self, _Worker.close, self._worker)
        self.add(event_pb2.Event(wall_time=time.time(), file_version="brain.Event:2"))
        self.flush()

    def add(self, event: Any) -> None:
        """Blocks only while `max_queue` events wait to be written. Raises OSError for earlier failures."""
        self._worker.write(event.SerializeToString())

    def flush(self) -> None:
        self._worker.flush()

    def close(self) -> None:
        self._close()
        self._worker._check()
