"""Waiting for checkpoints (TF: tf.contrib.training)."""

from __future__ import annotations

import time
from typing import Any

from penstock.checkpoint.state import latest_checkpoint
from penstock.export import export


@export("contrib.training.wait_for_new_checkpoint")
def wait_for_new_checkpoint(
    checkpoint_dir: Any, last_checkpoint: str | None = None, seconds_to_sleep: float = 1, timeout: float | None = None
) -> str | None:
    """The latest checkpoint of a directory once it differs from `last_checkpoint`; None after `timeout` seconds."""
    end = None if timeout is None else time.monotonic() + timeout
    while (found := latest_checkpoint(checkpoint_dir)) is None or found == last_checkpoint:
        if end is not None and time.monotonic() + seconds_to_sleep > end:
            return None
        time.sleep(seconds_to_sleep)
    return found
