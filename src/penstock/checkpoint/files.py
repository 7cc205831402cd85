"""Checkpoints on disk: whether they exist, their contents and age, and deletion."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from penstock.checkpoint.background import settle
from penstock.checkpoint.bundle_files import bundle_data_names
from penstock.checkpoint.first_format import first_format_files, is_table
from penstock.checkpoint.index import data_names
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.replace import remove_leftovers
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
    directory, base = storage.split(path)
    with typed(f"cannot delete checkpoint {os.fspath(prefix)}"):
        storage.remove(path + ".index")
        try:
            names = storage.names(directory)
        except FileNotFoundError:
            return
        tensorflow_data = bundle_data_names(base)
        for name in names:
            if tensorflow_data.fullmatch(name):
                storage.remove(storage.join(directory, name))
        remove_leftovers(storage, storage.join(directory, base + ".index"), data_names(base))
        for file in first_format_files(storage, path):
            if is_table(storage, file):
                storage.remove(file)


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
