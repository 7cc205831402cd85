"""Replace a file atomically, together with data files that only its new content names.

Readers start from the file, so they see the old content with the old data files or the new content with the new ones,
whenever the writer dies. Every replacement has its own token, which is part of each data file's name and (if there are
data files) of the new content; this shows whether a data file is in use.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from penstock.checkpoint.storage import Path, Pending, Storage, WritableFile, locate, typed

TOKEN = "[0-9a-f]{16}"
MAX_TARGET_BYTES = 1 << 29


def temporary_data(number: int, token: str) -> str:
    """What follows the prefix in the name of a data file that gets its final name when it is complete."""
    return f".data-{number:05d}.{token}.tmp"


class Replacement:
    """Use as a context: `create` data files, then `publish` the content; an exception undoes everything.

    `data_names` matches the data files of all replacements of `target`, with the token as group 1; leftovers
    of killed writers and the files of the replaced content are removed once the new content is in place. `clean`
    removes leftovers of other kinds.
    """

    def __init__(
        self,
        storage: Storage,
        target: str,
        data_names: re.Pattern[str] | None = None,
        clean: Callable[[], None] | None = None,
    ) -> None:
        self._storage = storage
        self._target = target
        self._data_names = data_names
        self._clean = clean
        self._created: list[tuple[str, WritableFile | None]] = []
        self._pending: Pending
        self.token = ""

    def __enter__(self) -> Self:
        for attempts_left in reversed(range(8)):
            self.token = secrets.token_hex(8)
            try:
                self._pending = self._storage.begin(self._target, self.token)
                break
            except FileExistsError:
                if not attempts_left:
                    raise
        return self

    def create(self, path: str) -> WritableFile:
        file = self._storage.create(path)
        self._created.append((path, file))
        return file

    def link(self, source: str, path: str) -> None:
        """Like `create`, of a file that exists under another name."""
        self._storage.link(source, path)
        self._created.append((path, None))

    def publish(self, data: bytes, *, by_token: bool = True) -> None:
        """`by_token` is false of content whose data files have been moved to names without one."""
        if by_token and self._created and self.token.encode() not in data:
            raise ValueError("the content names none of the data files: they would count as leftovers")
        self._pending.publish(data)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with suppress(OSError):  # the next replacement tries again; `error`, if any, is more informative
                if error is None:
                    remove_leftovers(self._storage, self._target, self._data_names)
                    if self._clean:
                        self._clean()
                else:
                    self._undo()
        finally:
            with suppress(OSError):
                self._pending.release()

    def _undo(self) -> None:
        for _, file in self._created:
            if file:
                file.abandon()
        # A failure after the rename (the directory's fsync) leaves the new content, which needs these.
        if not self._created or is_named(self._storage, self._target, self.token):
            return
        for path, _ in self._created:
            self._storage.remove(path)


def is_named(storage: Storage, target: str, token: str) -> bool:
    """Whether the content of `target` mentions `token`: even corrupt content shows which files it may need."""
    try:
        return token.encode() in storage.read(target, MAX_TARGET_BYTES)
    except FileNotFoundError:
        return False


def remove_leftovers(storage: Storage, target: str, data_names: re.Pattern[str] | None) -> None:
    """Remove the temporary and data files of `target` that neither its content nor a live writer needs."""
    directory, base = storage.split(target)
    temporary_names = re.compile(re.escape(base) + rf"\.({TOKEN})\.tmp")
    by_token: dict[str, list[str]] = {}
    for name in storage.names(directory):
        found = temporary_names.fullmatch(name) or (data_names.fullmatch(name) if data_names else None)
        if found:
            by_token.setdefault(found[1], []).append(name)
    for token, names in by_token.items():
        # In this order: a writer that was alive a moment ago has either published or failed by now.
        with storage.abandoned(target, token) as abandoned:
            if abandoned and not is_named(storage, target, token):
                for name in names:
                    storage.remove(storage.join(directory, name))


def write_whole(path: Path, data: bytes) -> None:
    """Make `data` the content of a file, atomically. Raises a subclass of OpError, naming the path, if that fails."""
    storage, target = locate(path)
    with typed(f"cannot write {target}"), Replacement(storage, target) as replacement:
        replacement.publish(data)
