"""A save that dies, fails or races leaves a whole checkpoint: the old one or the new one."""

from __future__ import annotations

import errno
import itertools
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import penstock
from penstock import errors
from penstock.checkpoint import local
from penstock.checkpoint.files import delete_checkpoint
from penstock.checkpoint.index import DataFile, Index, data_names, data_suffix, dump_index, parse_index
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.replace import Replacement
from penstock.checkpoint.storage import locate
from penstock.checkpoint.writer import Format, write_checkpoint

ACTIONS = ("open", "write", "fsync", "replace", "link", "unlink", "listdir", "preadv")

FORMATS: tuple[Format, ...] = ("penstock", "tensorflow")
"""Those with an index, of which several processes may write one checkpoint."""
CHANGES = list(itertools.product(get_args(Format), get_args(Format)))
"""From the format of the checkpoint that is there to that of the next one."""


class Killed(BaseException):
    """What a killed process does not get to see."""


class FragileOs:
    """`os` as the storage sees it. `before(call number, action)` runs ahead of each action and may raise."""

    def __init__(self, before: Callable[[int, str], None]) -> None:
        self._before = before
        self._count = 0

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in ACTIONS:
            return real

        def act(*args: Any, **kwargs: Any) -> Any:
            self._count += 1
            self._before(self._count, name)
            return real(*args, **kwargs)

        return act


class PowerCut:
    """Dies at one action and loses what was not synced by then: content, new names and renames.

    With `reordered`, renames reach the medium before the new names that came earlier.
    """

    def __init__(self, fatal: int, reordered: bool = False) -> None:
        self._fatal = fatal
        self._reordered = reordered
        self._count = 0
        self._dead = False
        self._paths: dict[int, str] = {}
        self._unsynced: set[str] = set()
        self._undo: list[Callable[[], object]] = []

    def __getattr__(self, name: str) -> Any:
        if name not in ACTIONS:
            return getattr(os, name)
        return lambda *args, **kwargs: self._act(name, *args, **kwargs)

    def _act(self, name: str, *args: Any, **kwargs: Any) -> Any:
        self._count += 1
        if self._dead or self._count >= self._fatal:
            self._die()
        if name == "replace":
            self._note_replace(*args)
        elif name == "link" and not self._reordered:
            self._undo.append(lambda: Path(args[1]).unlink(missing_ok=True))
        result = getattr(os, name)(*args, **kwargs)
        if name == "open":
            self._paths[result] = args[0]
            if args[1] & os.O_CREAT:
                self._undo.append(lambda: Path(args[0]).unlink(missing_ok=True))
        elif name == "write":
            self._unsynced.add(self._paths[args[0]])
        elif name == "fsync" and os.path.isdir(self._paths[args[0]]):
            self._undo.clear()
        elif name == "fsync":
            self._unsynced.discard(self._paths[args[0]])
        return result

    def _note_replace(self, source: str, target: str) -> None:
        if source in self._unsynced:
            self._unsynced.add(target)
        old = Path(target).read_bytes() if os.path.exists(target) else None
        if self._reordered:
            return
        if old is None:
            self._undo.append(lambda: Path(target).unlink(missing_ok=True))
        else:
            self._undo.append(lambda: Path(target).write_bytes(old))

    def _die(self) -> None:
        if not self._dead:
            self._dead = True
            for undo in reversed(self._undo):
                undo()
            for path in self._unsynced:
                if os.path.exists(path):
                    os.truncate(path, 0)
        raise Killed


@contextmanager
def storage_os(monkeypatch: pytest.MonkeyPatch, stand_in: object) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(local, "os", stand_in)
        yield


def tensors(value: int) -> dict[str, np.ndarray[Any, Any]]:
    return {
        "a": np.full(50, value, np.int64),
        "b": np.full((3, 4), value, np.float32),
        "s": np.array([b"%d" % value] * 3, object),
    }


def save(prefix: Path, value: int, format: Format = "penstock") -> None:
    write_checkpoint(prefix, tensors(value), max_shard_bytes=400, format=format)


def whole(prefix: Path) -> int:
    """The one value that every tensor of the checkpoint has."""
    with CheckpointReader(prefix) as reader:
        read = reader.read(["a", "b", "s"])
    (found,) = {int(item) for value in read.values() for item in value.reshape(-1).tolist()}
    return found


def shape_of(directory: Path) -> list[str]:
    return sorted(re.sub(r"[0-9a-f]{16}", "TOKEN", path.name) for path in directory.iterdir())


FILES = {
    "penstock": [
        "m.data-00000-of-00002.TOKEN.safetensors",
        "m.data-00001-of-00002.TOKEN.safetensors",
        "m.index",
    ],
    "tensorflow": ["m.data-00000-of-00002", "m.data-00001-of-00002", "m.index"],
    "tensorflow-v1": ["m"],
}
ONE_CHECKPOINT = FILES["penstock"]


def attempt_to_save(prefix: Path, value: int, format: Format) -> errors.OpError | None:
    try:
        save(prefix, value, format)
    except errors.OpError as error:
        return error
    return None


def kill_at(call: int) -> Callable[[int, str], None]:
    def before(count: int, action: str) -> None:
        if count >= call:  # the clean-up of a dead process does not run either
            raise Killed

    return before


class TornWrite(FragileOs):
    """Dies at one action; if it is a write, after half of it."""

    def __init__(self, fatal: int) -> None:
        super().__init__(kill_at(fatal))
        self._fatal = fatal

    def write(self, fd: int, data: memoryview) -> int:
        if self._count + 1 == self._fatal:
            os.write(fd, data[: len(data) // 2])
        self._count += 1
        self._before(self._count, "write")
        return os.write(fd, data)


DEATHS: dict[str, Callable[[int], object]] = {
    "kill": lambda call: FragileOs(kill_at(call)),
    "kill in a write": TornWrite,
    "power cut": PowerCut,
    "power cut, names reordered": lambda call: PowerCut(call, reordered=True),
}


@pytest.mark.parametrize("death", DEATHS.values(), ids=DEATHS)
@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_a_writer_that_dies_at_any_action_leaves_the_old_checkpoint_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: Format, new: Format, death: Callable[[int], object]
) -> None:
    seen = []
    for call in itertools.count(1):
        directory = tmp_path / str(call)
        directory.mkdir()
        prefix = directory / "m"
        save(prefix, 1, old)
        try:
            with storage_os(monkeypatch, death(call)):
                save(prefix, 2, new)
            died = False
        except Killed:
            died = True
        seen.append(whole(prefix))
        save(prefix, 3, new)
        assert whole(prefix) == 3
        assert shape_of(directory) == FILES[new]  # leftovers of the dead writer are gone
        if not died:
            break
    assert len(seen) > (10 if new == "tensorflow-v1" else 20)  # that is a single file
    assert seen == sorted(seen)
    assert set(seen) == {1, 2}


@pytest.mark.parametrize("death", DEATHS.values(), ids=DEATHS)
@pytest.mark.parametrize("format", FORMATS)
def test_a_first_save_that_dies_leaves_no_checkpoint_or_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: Format, death: Callable[[int], object]
) -> None:
    for call in itertools.count(1):
        directory = tmp_path / str(call)
        directory.mkdir()
        try:
            with storage_os(monkeypatch, death(call)):
                save(directory / "m", 2, format)
            assert call > 10
            return
        except Killed:
            if (directory / "m.index").exists():
                assert whole(directory / "m") == 2
            else:
                with pytest.raises(errors.NotFoundError):
                    CheckpointReader(directory / "m")


@pytest.mark.parametrize("old", FORMATS)
def test_a_writer_that_dies_again_and_again_leaves_a_whole_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: Format
) -> None:
    """Leftovers of one death are what the next save finds."""
    save(tmp_path / "m", 1, old)
    last, value = 1, 1
    for call in range(1, 46):
        for new in FORMATS:
            value += 1
            try:
                with storage_os(monkeypatch, FragileOs(kill_at(call))):
                    save(tmp_path / "m", value, new)
            except Killed:
                pass
            found = whole(tmp_path / "m")
            assert found in (last, value)
            last = found
    assert last > 1


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (errno.ENOSPC, errors.ResourceExhaustedError),
        (errno.EACCES, errors.PermissionDeniedError),
        (errno.EROFS, errors.PermissionDeniedError),
        (errno.EIO, errors.DataLossError),
        (errno.EINTR, errors.UnknownError),
        (errno.EXDEV, errors.UnknownError),
    ],
    ids=lambda item: errno.errorcode[item] if isinstance(item, int) else item.__name__,
)
@pytest.mark.parametrize("format", FORMATS)
def test_a_failure_of_any_action_is_typed_and_leaves_one_whole_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: Format, code: int, error: type[errors.OpError]
) -> None:
    failures = 0
    for call in itertools.count(1):
        directory = tmp_path / str(call)
        directory.mkdir()
        save(directory / "m", 1, format)
        actions: list[str] = []

        def fail_once(count: int, action: str, call: int = call, actions: list[str] = actions) -> None:
            actions.append(action)
            if count == call:
                raise OSError(code, os.strerror(code))

        with storage_os(monkeypatch, FragileOs(fail_once)):
            raised = attempt_to_save(directory / "m", 2, format)
        assert whole(directory / "m") in (1, 2)
        if raised is not None:
            failures += 1
            assert type(raised) is error
            assert str(directory / "m") in raised.message
            if whole(directory / "m") == 1:
                assert shape_of(directory) == FILES[format]
        elif len(actions) >= call:
            # It was the clean-up, which the next save does as well, or the second round of a bundle.
            assert whole(directory / "m") == 2
            save(directory / "m", 3, format)
            assert shape_of(directory) == FILES[format]
        else:
            assert failures > 8
            return


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOMEM, errno.EINTR], ids=errno.errorcode.get)
def test_a_failure_of_any_action_of_a_restore_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: Format, code: int
) -> None:
    save(tmp_path / "m", 1, format)
    for call in itertools.count(1):

        def fail_once(count: int, action: str, call: int = call) -> None:
            if count == call:
                raise OSError(code, os.strerror(code))

        try:
            with storage_os(monkeypatch, FragileOs(fail_once)):
                assert whole(tmp_path / "m") == 1
        except errors.OpError as error:
            assert str(tmp_path / "m") in error.message
        else:
            break
    assert call > 6


@pytest.mark.parametrize("format", FORMATS)
def test_signals_do_not_disturb_a_save(tmp_path: Path, format: Format) -> None:
    counted: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: counted.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
    try:
        for value in range(1, 30):
            save(tmp_path / "m", value, format)
            assert whole(tmp_path / "m") == value
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert counted


@pytest.mark.parametrize("format", FORMATS)
def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path: Path, format: Format) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        with pytest.raises(errors.ResourceExhaustedError, match="cannot save checkpoint"):
            write_checkpoint(tmp_path / "m", {"w": np.zeros(1 << 20)}, format=format)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_a_missing_parent_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError, match="nowhere/m"):
        save(tmp_path / "nowhere" / "m", 1)
    (tmp_path / "file").touch()
    with pytest.raises(errors.FailedPreconditionError, match="file/m"):
        save(tmp_path / "file" / "m", 1)


@pytest.mark.parametrize("format", FORMATS)
def test_an_unwritable_directory_is_reported(tmp_path: Path, format: Format) -> None:
    user = os.geteuid()
    tmp_path.chmod(0o500)
    if user == 0:
        os.seteuid(65534)  # root may write anywhere
    try:
        with pytest.raises(errors.PermissionDeniedError, match="cannot save checkpoint"):
            save(tmp_path / "m", 1, format)
    finally:
        os.seteuid(user)
        tmp_path.chmod(0o700)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("prefix", ["", "{}/a\0b", "{}/" + "n" * 300])
def test_an_unusable_prefix_is_refused(tmp_path: Path, prefix: str) -> None:
    with pytest.raises(errors.InvalidArgumentError):
        write_checkpoint(prefix.format(tmp_path), {})


@pytest.mark.parametrize("format", FORMATS)
def test_a_prefix_that_is_a_folder_names_files_in_it_as_in_tensorflow(tmp_path: Path, format: Format) -> None:
    (tmp_path / "m").mkdir()
    in_it: Any = f"{tmp_path}/m/"
    save(tmp_path / "m" / "a", 1)
    for value in (2, 3):
        save(in_it, value, format)
    assert whole(in_it) == 3 and whole(tmp_path / "m" / "a") == 1
    assert (tmp_path / "m" / ".index").exists()


def test_an_exception_while_values_are_taken_leaves_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path / "m", 1)

    def interrupted(*args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("zlib.crc32", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path / "m", 2)
    monkeypatch.undo()
    assert whole(tmp_path / "m") == 1
    assert shape_of(tmp_path) == ONE_CHECKPOINT


def test_a_save_leaves_the_files_of_other_prefixes_alone(tmp_path: Path) -> None:
    token = "0" * 16
    others = [
        f"m1{data_suffix(0, 1, token)}",
        f"m.index.{token}.tmp.x",
        "m1.data-00000-of-00001",
        "m.meta",
        "xm.index",
    ]
    for name in others:
        (tmp_path / name).touch()
    leftovers = [
        f"m{data_suffix(0, 1, token)}",
        f"m.index.{token}.tmp",
        f"m.data-00000.{token}.tmp",
        "m.data-00000-of-00001",
    ]
    for name in leftovers:
        (tmp_path / name).touch()
    save(tmp_path / "m", 1)
    names = {path.name for path in tmp_path.iterdir()}
    assert names.issuperset(others)
    assert names.isdisjoint(leftovers)


def test_a_reader_keeps_its_checkpoint_while_it_is_overwritten_and_deleted(tmp_path: Path) -> None:
    save(tmp_path / "m", 1)
    reader = CheckpointReader(tmp_path / "m")
    save(tmp_path / "m", 2)
    assert reader.get_tensor("a")[0] == 1
    delete_checkpoint(tmp_path / "m")
    assert reader.get_tensor("b")[0, 0] == 1
    assert list(tmp_path.iterdir()) == []


def test_the_files_of_a_writer_at_work_survive_the_save_of_another(
    tmp_path: Path,
) -> None:
    save(tmp_path / "m", 7)
    index = (tmp_path / "m.index").read_bytes()
    (old_token,) = set(re.findall(rb"[0-9a-f]{16}", index))
    files = {path.name: path.read_bytes() for path in tmp_path.glob("m.data-*")}
    storage, target = locate(tmp_path / "m.index")
    with Replacement(storage, target, data_names("m")) as replacement:
        for name, data in files.items():
            out = replacement.create(str(tmp_path / name.replace(old_token.decode(), replacement.token)))
            out.write(memoryview(data))
            out.finish()
        save(tmp_path / "m", 8)
        assert whole(tmp_path / "m") == 8
        parsed = parse_index(index, "m.index")
        moved = [file.suffix.replace(old_token.decode(), replacement.token) for file in parsed.files]
        renamed = tuple(DataFile(suffix, file.nbytes) for suffix, file in zip(moved, parsed.files, strict=True))
        replacement.publish(dump_index(Index(renamed, parsed.tensors)))
    assert whole(tmp_path / "m") == 7
    assert shape_of(tmp_path) == ONE_CHECKPOINT


def test_a_writer_whose_temporary_file_was_taken_for_a_leftover_starts_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_lock = local._lock
    removed: list[str] = []

    def lock(fd: int) -> bool:
        if not removed:
            removed.append(os.readlink(f"/proc/self/fd/{fd}"))
            os.unlink(removed[0])
        return real_lock(fd)

    monkeypatch.setattr(local, "_lock", lock)
    save(tmp_path / "m", 1)
    assert removed
    assert whole(tmp_path / "m") == 1


def test_a_writer_does_not_take_a_file_that_another_is_about_to_remove(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage, target = locate(tmp_path / "m.index")
    real_lock = local._lock
    taken: list[str] = []
    with ExitStack() as cleaning:

        def lock(fd: int) -> bool:
            if not taken:  # the file has just been created, and another writer's clean-up has come across it
                taken.append(os.readlink(f"/proc/self/fd/{fd}"))
                (token,) = re.findall(r"[0-9a-f]{16}", Path(taken[0]).name)
                assert cleaning.enter_context(storage.abandoned(target, token))
            return real_lock(fd)

        monkeypatch.setattr(local, "_lock", lock)
        with Replacement(storage, target) as replacement:
            Path(taken[0]).unlink(missing_ok=True)
            replacement.publish(b"new")
    assert storage.read(target, 10) == b"new"
    assert shape_of(tmp_path) == ["m.index"]


@pytest.mark.parametrize("formats", [FORMATS[:1], FORMATS[1:], FORMATS], ids=str)
def test_readers_and_writers_at_once_see_whole_checkpoints_only(tmp_path: Path, formats: tuple[Format, ...]) -> None:
    save(tmp_path / "m", 0)

    def write(first: int) -> None:
        for value in range(first, first + 15):
            save(tmp_path / "m", value, formats[value % len(formats)])

    with ThreadPoolExecutor(2) as pool:
        writers = [pool.submit(write, first) for first in (1, 100)]
        reads = 0
        while not all(writer.done() for writer in writers):
            whole(tmp_path / "m")
            reads += 1
    for writer in writers:
        writer.result()
    assert reads > 0
    save(tmp_path / "m", 99)
    assert shape_of(tmp_path) == ONE_CHECKPOINT


WRITER = """
import sys
import numpy as np
from penstock.checkpoint.writer import write_checkpoint
for value in range(1, 10**6):
    tensors = {f"w{i}": np.full(20000, value) for i in range(20)}
    write_checkpoint(sys.argv[1], tensors, max_shard_bytes=1 << 20, format=sys.argv[2])
    print(value, flush=True)
"""


@pytest.mark.parametrize("delay", [0.1, *(pytest.param(0.11 + n / 70, marks=pytest.mark.slow) for n in range(10))])
@pytest.mark.parametrize("format", FORMATS)
def test_a_writer_killed_by_the_system_leaves_a_whole_checkpoint(tmp_path: Path, format: Format, delay: float) -> None:
    source = str(Path(next(iter(penstock.__path__))).parent)
    environment = os.environ | {"PYTHONPATH": source}
    command = [sys.executable, "-c", WRITER, str(tmp_path / "m"), format]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        reported = int(process.stdout.readline())
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        reported = int(([str(reported), *process.stdout.read().split()])[-1])
        assert process.wait() == -signal.SIGKILL
    with CheckpointReader(tmp_path / "m") as reader:
        read = reader.read(reader.get_variable_to_shape_map())
    (value,) = {int(item) for array in read.values() for item in (array.min(), array.max())}
    assert value in (reported, reported + 1)
    save(tmp_path / "m", 5)
    assert whole(tmp_path / "m") == 5
    assert shape_of(tmp_path) == ONE_CHECKPOINT
