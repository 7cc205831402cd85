"""Tracks the checkpoints that a saver has written, and deletes those that are not kept."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from penstock.checkpoint.files import checkpoint_exists, delete_checkpoint, get_checkpoint_mtimes
from penstock.checkpoint.storage import locate, typed
from penstock.export import export

_LOG = logging.getLogger(__name__)


class KeptCheckpoints:
    """Keeps the latest `most` checkpoints (0: all), and of the older ones one for every `hours`."""

    def __init__(self, most: int, hours: float) -> None:
        self._most = most
        self._seconds = hours * 3600
        self._next_to_keep = time.time() + self._seconds
        self.written: list[tuple[str, float]] = []
        """Prefix, and when it was written; oldest first."""

    @property
    def prefixes(self) -> list[str]:
        return [prefix for prefix, _ in self.written]

    def recover(self, prefixes: Iterable[str]) -> None:
        """Treat the existing ones among the paths as written."""
        existing = [prefix for prefix in prefixes if checkpoint_exists(prefix)]
        self.written = list(zip(existing, get_checkpoint_mtimes(existing), strict=True))

    def record(self, prefix: str) -> list[str]:
        """Record a new checkpoint (one saved again counts as the newest); returns those to delete.

        Where all are kept there is nothing to record, as in TensorFlow.
        """
        if not self._most:
            return []
        self.written = [item for item in self.written if item[0] != prefix]
        self.written.append((prefix, time.time()))
        superfluous = []
        while len(self.written) > self._most:
            old, written = self.written.pop(0)
            if written > self._next_to_keep:
                self._next_to_keep += self._seconds
            else:
                superfluous.append(old)
        return superfluous


def meta_graph_name(prefix: str, suffix: str) -> str:
    return f"{prefix}.{suffix}"


@export("train.remove_checkpoint")
def remove_checkpoint(
    checkpoint_prefix: str, checkpoint_format_version: int = 2, meta_graph_suffix: str = "meta"
) -> None:
    """Delete a checkpoint and its meta graph (TF: tf.train.remove_checkpoint)."""
    path = meta_graph_name(checkpoint_prefix, meta_graph_suffix)
    storage, name = locate(path)
    with typed(f"cannot delete {path}"):
        storage.remove(name)
    delete_checkpoint(checkpoint_prefix)


def remove_old(prefix: str, meta_graph_suffix: str) -> None:
    """Like `remove_checkpoint`, but logs errors: training must not stop because of them."""
    try:
        remove_checkpoint(prefix, meta_graph_suffix=meta_graph_suffix)
    except Exception as error:
        _LOG.warning("cannot delete the old checkpoint %s: %s", prefix, error)
