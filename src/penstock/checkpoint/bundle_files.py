"""Replace a tensor bundle atomically, although the names of its data files are fixed: the n-th of N is
`prefix.data-n-of-N`.

Readers start from the index, which says N. New data files take names with an N that the present index does not have:
the usual names, or, if these are in use, names with one more (an empty file is the last). So no index ever names data
of another. Then the index is replaced. Data in unusual names gets the usual ones in a second round: each file is linked
to its usual name, which is free now, and the index is replaced once more. All this happens with the directory locked.
"""

from __future__ import annotations

import dataclasses
import re
import secrets
from collections.abc import Callable
from contextlib import suppress

from penstock import errors
from penstock.checkpoint.bundle import bundle_suffix, dump_bundle, file_count
from penstock.checkpoint.index import DataFile, Index, data_names
from penstock.checkpoint.replace import MAX_TARGET_BYTES, Replacement, remove_leftovers
from penstock.checkpoint.storage import Storage


def bundle_data_names(base: str) -> re.Pattern[str]:
    """Matches the names of TensorFlow's data files of the prefix named `base`; group 1 is how many there are."""
    return re.compile(re.escape(base) + r"\.data-[0-9]{5,9}-of-([0-9]{5,9})")


def publish_bundle(storage: Storage, path: str, replacement: Replacement, index: Index) -> None:
    """Make the data files of `index`, which have temporary names, and `index` itself the checkpoint `path`."""
    directory, base = storage.split(path)
    usual = len(index.files)
    with storage.locked(directory):
        count = usual if usual != _named(storage, path) else usual + 1
        try:
            for number, file in enumerate(index.files):
                storage.move(path + file.suffix, path + bundle_suffix(number, count))
            if count != usual:
                storage.remove(path + bundle_suffix(usual, count))  # a killed writer's
                storage.create(path + bundle_suffix(usual, count)).finish()
            replacement.publish(_with_names(index, count), by_token=False)
        except BaseException:
            with suppress(OSError):
                # After the rename (of a failed sync), the old data may be needed as well as the new.
                if _named(storage, path) != count:
                    _remove_data(storage, directory, base, lambda found: found == count)
            raise
        with suppress(OSError):  # the next save cleans up, too
            _remove_unnamed(storage, directory, base)
            if count != usual:  # and there may be no links, or no space
                _take_usual_names(storage, path, index, count)


def remove_unnamed(storage: Storage, directory: str, base: str) -> None:
    """Remove TensorFlow's data files that the index does not name: leftovers of killed writers and of the checkpoint
    that another format has replaced."""
    names = bundle_data_names(base)
    if any(names.fullmatch(name) for name in storage.names(directory)):
        with storage.locked(directory):
            _remove_unnamed(storage, directory, base)


def remove_indexed(storage: Storage, path: str) -> None:
    """Remove the checkpoint `path`, if an index names its files. The index is first: no half of one is left."""
    directory, base = storage.split(path)
    storage.remove(path + ".index")
    for name in storage.names(directory):
        if bundle_data_names(base).fullmatch(name):
            storage.remove(storage.join(directory, name))
    remove_leftovers(storage, path + ".index", data_names(base))


def _remove_unnamed(storage: Storage, directory: str, base: str) -> None:
    count = _named(storage, storage.join(directory, base))
    if count is not None:  # a damaged index: its data may be wanted
        _remove_data(storage, directory, base, lambda found: found != count)


def _remove_data(storage: Storage, directory: str, base: str, superfluous: Callable[[int], bool]) -> None:
    """Remove data files by how many their names say there are."""
    for name in storage.names(directory):
        found = bundle_data_names(base).fullmatch(name)
        if found and superfluous(int(found[1])):
            storage.remove(storage.join(directory, name))


def _named(storage: Storage, path: str) -> int | None:
    """How many data files the index of a checkpoint has in fixed names; None if it is damaged."""
    try:
        return file_count(storage.read(path + ".index", MAX_TARGET_BYTES))
    except FileNotFoundError:
        return 0


def _take_usual_names(storage: Storage, path: str, index: Index, count: int) -> None:
    directory, base = storage.split(path)
    usual = len(index.files)
    for number in range(usual):
        storage.link(path + bundle_suffix(number, count), path + bundle_suffix(number, usual))
    pending = storage.begin(path + ".index", secrets.token_hex(8))
    try:
        pending.publish(_with_names(index, usual))
    finally:
        pending.release()
        _remove_unnamed(storage, directory, base)


def _with_names(index: Index, count: int) -> bytes:
    sizes = [file.nbytes for file in index.files] + [0] * (count - len(index.files))
    files = tuple(DataFile(bundle_suffix(number, count), size) for number, size in enumerate(sizes))
    data = dump_bundle(dataclasses.replace(index, files=files))
    if len(data) > MAX_TARGET_BYTES:
        message = f"{len(index.tensors)} tensors make an index of {len(data)} bytes, more than {MAX_TARGET_BYTES}"
        raise errors.InvalidArgumentError(None, None, message)
    return data
