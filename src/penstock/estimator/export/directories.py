"""Folders of exported models, named after the time."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from penstock import gfile, logging
from penstock.saved_model import constants

_ATTEMPTS = 10


def timestamped_directory(base: str) -> str:
    """A path in `base` that does not exist yet: the seconds since 1970. Raises RuntimeError if all are taken."""
    for attempt in range(1, _ATTEMPTS + 1):
        path = os.path.join(base, str(int(time.time())))
        if not gfile.Exists(path):
            return path
        logging.warning("Export directory %s already exists; retrying (attempt %d/%d)", path, attempt, _ATTEMPTS)
        time.sleep(1)
    raise RuntimeError(f"Failed to obtain a unique export directory name after {_ATTEMPTS} attempts.")


def temporary_directory(path: str) -> str:
    """Where an export is written before it is renamed to `path`, so that a reader never finds a part of it."""
    return os.path.join(os.path.dirname(path), f"temp-{os.path.basename(path)}")


def exports_in(base: str) -> list[str]:
    """The folders of exports in `base`, oldest first."""
    if not gfile.IsDirectory(base):
        return []
    names = [name.rstrip("/") for name in gfile.ListDirectory(base)]
    return [os.path.join(base, name) for name in sorted((name for name in names if name.isdigit()), key=int)]


def copy_extra_assets(assets: Mapping[str, str], export_dir: str) -> None:
    """Copy files, given by their paths below the folder of extra assets."""
    for target, source in assets.items():
        path = os.path.join(export_dir, constants.EXTRA_ASSETS_DIRECTORY, target)
        gfile.MakeDirs(os.path.dirname(path))
        gfile.Copy(source, path)
