"""`get_file`: data sets that programs know by an address (TF: tf.keras.utils.get_file)."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

from penstock.export import export


@export("keras.utils.get_file")
def get_file(
    fname: str,
    origin: str,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: str = "auto",
    cache_dir: str | None = None,
) -> str:
    """The path of a file in the cache (~/.keras, or KERAS_HOME), which is fetched from `origin` if it is not there.

    `file_hash` (MD5 or SHA-256) is compared with the file's. `extract` and `untar` unpack archives next to it. Raises
    OSError, which says where to put the file, if it cannot be fetched.
    """
    folder = cached("", cache_subdir, cache_dir)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (f"{fname}.tar.gz" if untar else fname)
    wanted = file_hash or md5_hash
    if not path.exists() or (wanted and not validate_file(path, wanted)):
        _fetch(origin, path)
        if wanted and not validate_file(path, wanted):
            raise OSError(f"{path}, fetched from {origin}, does not have the hash {wanted}")
    if untar or extract:
        unpack(path, folder)
    return str(folder / fname if untar else path)


def validate_file(path: Any, file_hash: str) -> bool:
    """Whether a file has this MD5 or SHA-256 hash, in hexadecimal digits."""
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, "sha256" if len(file_hash) == 64 else "md5")
    return found.hexdigest() == file_hash.lower()


def _fetch(origin: str, path: Path) -> None:
    part = path.with_name(path.name + ".part")
    try:
        print(f"Downloading data from {origin}")
        with urllib.request.urlopen(origin, timeout=30) as source, open(part, "wb") as target:
            shutil.copyfileobj(source, target)
        part.replace(path)
    except (OSError, ValueError) as error:
        part.unlink(missing_ok=True)
        other = " What is there does not have its hash." if path.exists() else ""
        raise OSError(
            f"Could not fetch {origin} ({error}). Put the file at {path} to use it without a network.{other}"
        ) from None


def cached(name: str, cache_subdir: str = "datasets", cache_dir: str | None = None) -> Path:
    """Where a file of that name is in the cache."""
    return Path(cache_dir or os.environ.get("KERAS_HOME") or Path.home() / ".keras") / cache_subdir / name


def unpack(path: Path, folder: Path) -> None:
    """Write what is in an archive (tar, zip) to a folder, and nothing outside it."""
    if tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")  # nothing outside the folder
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
