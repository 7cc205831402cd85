"""`CheckpointManager`: keeps the latest checkpoints of a directory (TF: tf.train.CheckpointManager)."""

from __future__ import annotations

import logging
import os
import time
from typing import Any

import numpy as np

from penstock.checkpoint.files import delete_checkpoint
from penstock.checkpoint.state import get_checkpoint_state, update_checkpoint_state
from penstock.export import export
from penstock.train.global_step import global_step as read_global_step
from penstock.train.object_checkpoint import Checkpoint
from penstock.train.object_saver import session_or_default
from penstock.train.saver import after_save

_LOG = logging.getLogger(__name__)


@export("train.CheckpointManager", "contrib.checkpoint.CheckpointManager")
class CheckpointManager:
    """Saves a `Checkpoint` as `directory/ckpt-1`, `-2`, …, and deletes old ones.

    max_to_keep: how many there are (None: all). keep_checkpoint_every_n_hours: one of those that are too many stays for
    every such period. checkpoint_name: "ckpt". What the directory's state file says is gone on with. Raises ValueError
    if max_to_keep is not positive.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: Any,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}.")
        self._checkpoint, self._directory = checkpoint, os.fspath(directory)
        self._most, self._hours = max_to_keep, keep_checkpoint_every_n_hours
        self._prefix = os.path.join(self._directory, checkpoint_name)
        self._latest: str | None = None
        self._kept: dict[str, float] = {}
        """When each was written, oldest first."""
        now = time.time()
        self._preserved = now - 1.0  # when the last that stays was written
        state = get_checkpoint_state(self._directory)
        if state is not None:
            self._latest = state.model_checkpoint_path
            self._preserved = min(state.last_preserved_timestamp, now)
            paths = state.all_model_checkpoint_paths
            times = state.all_model_checkpoint_timestamps or [self._preserved] * len(paths)
            written = [(path, min(at, now)) for path, at in zip(paths, times, strict=False)]
            self._kept = {path: at for path, at in written if at > self._preserved}

    @property
    def latest_checkpoint(self) -> str | None:
        """The prefix of the latest one, None without any."""
        return self._latest

    @property
    def checkpoints(self) -> list[str]:
        """The prefixes of those that may be deleted, oldest first."""
        return list(self._kept)

    def save(self, checkpoint_number: Any = None) -> str:
        """Save in the default session; returns the prefix.

        checkpoint_number: an int, a variable or a tensor, instead of the checkpoint's `save_counter`, which counts all
        the same.
        """
        session = session_or_default(None)
        counted = self._checkpoint.count_save(session)
        if checkpoint_number is None:
            number = counted
        elif isinstance(checkpoint_number, int | np.integer):
            number = int(checkpoint_number)
        else:
            number = read_global_step(session, checkpoint_number)
        path = self._checkpoint.write(f"{self._prefix}-{number}", session)
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        self._latest = path
        self._record()  # before anything is deleted, and again after
        self._sweep()
        self._record()
        for follow in after_save:
            follow(path)
        return path

    def _sweep(self) -> None:
        """Delete those that are too many, except one for every so many hours."""
        while self._most and len(self._kept) > self._most:
            path = next(iter(self._kept))
            written = self._kept.pop(path)
            if self._hours and written - self._hours * 3600 >= self._preserved:
                self._preserved = written
                continue
            try:
                delete_checkpoint(path)
            except Exception as error:  # training must not stop because of it
                _LOG.warning("cannot delete the old checkpoint %s: %s", path, error)

    def _record(self) -> None:
        update_checkpoint_state(
            self._directory,
            self._latest or "",
            list(self._kept),
            all_model_checkpoint_timestamps=list(self._kept.values()),
            last_preserved_timestamp=self._preserved,
            save_relative_paths=True,
        )
