"""Checkpoints on disk: whether they exist, their contents and age, and deletion."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from penstock.checkpoint.background import settle
from penstock.checkpoint.bundle_files import remove_indexed
from penstock.checkpoint.first_format import first_format_files, remove_first_format
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.storage import Path, locate, typed
from penstock.export import export


@export("train.checkpoint_exists")
def checkpoint_exists(checkpoint_prefix: Path) -> bool:
    """Whether there is such a checkpoint. The index is written last, so the other files exist as well; TensorFlow's
    first format has none, but a file (or files, if the prefix is a pattern) of just that name."""
    settle()
    storage, path = locate(checkpoint_prefix)
    with typed(f"cannot look for checkpoint {os.fspath(checkpoint_prefix)}"):
        return storage.exists(path + ".index") or bool(first_format_files(storage, path))


def delete_checkpoint(prefix: Path) -> None:
    """Remove all files of the checkpoint, of whatever format. It need not exist.

    The index is deleted first: an interrupted deletion leaves no checkpoint rather than half of one.
    """
    storage, path = locate(prefix)
    with typed(f"cannot delete checkpoint {os.fspath(prefix)}"):
        try:
            remove_indexed(storage, path)
        except FileNotFoundError:  # there is no such directory
            return
        remove_first_format(storage, path)


def list_variables(prefix: Path) -> list[tuple[str, list[int]]]:
    """Name and shape of each tensor, by name."""
    with CheckpointReader(prefix) as reader:
        return sorted(reader.get_variable_to_shape_map().items())


@export("train.get_checkpoint_mtimes")
def get_checkpoint_mtimes(checkpoint_prefixes: Iterable[Path]) -> list[float]:
    """When each checkpoint was written, in seconds since the epoch; those that do not exist are left out."""
    settle()
    times: list[float] = []
    for prefix in checkpoint_prefixes:
        storage, path = locate(prefix)
        with typed(f"cannot look for checkpoint {os.fspath(prefix)}"):
            for file in (path + ".index", *first_format_files(storage, path)):
                with suppress(FileNotFoundError):
                    times.append(storage.modified(file))
                    break
    return times
