"""Queue runners for as long as a block lasts (TF: tf.contrib.slim.queues)."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from penstock.session.session import BaseSession
from penstock.train.coordinator import Coordinator
from penstock.train.queue_runner import start_queue_runners

__all__ = ["NestedQueueRunnerError", "QueueRunners"]

_ONE_AT_A_TIME = threading.Lock()


class NestedQueueRunnerError(Exception):
    """A block of `QueueRunners` within another."""


@contextlib.contextmanager
def QueueRunners(session: BaseSession) -> Iterator[None]:
    """Runs the queue runners of the session's graph; closes the session if they do not stop when the block ends."""
    if not _ONE_AT_A_TIME.acquire(blocking=False):
        raise NestedQueueRunnerError("QueueRunners cannot be nested")
    try:
        coordinator = Coordinator()
        with session.graph.as_default():
            threads = start_queue_runners(session, coordinator)
        try:
            yield
        finally:
            coordinator.request_stop()
            try:
                coordinator.join(threads, stop_grace_period_secs=120)
            except RuntimeError:
                session.close()
    finally:
        _ONE_AT_A_TIME.release()
