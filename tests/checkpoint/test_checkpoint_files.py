"""Finding, listing, dating, moving and deleting checkpoints, here and behind a URL."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from penstock import errors
from penstock.checkpoint.files import checkpoint_exists, delete_checkpoint, get_checkpoint_mtimes, list_variables
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.state import latest_checkpoint, update_checkpoint_state
from penstock.checkpoint.writer import write_checkpoint


@pytest.fixture(params=["local", "file_url", "memory", "memory_root"])
def prefix(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A prefix that names no checkpoint yet, on each kind of storage."""
    roots = {"local": str(tmp_path), "file_url": f"file://{tmp_path}", "memory": "memory://run/1"}
    yield f"{roots.get(request.param, 'memory:/')}/model.ckpt-1"
    store = MemoryFileSystem()
    store.store.clear()
    store.pseudo_dirs[:] = [""]


def files(prefix: str) -> list[str]:
    directory = prefix.rpartition("/")[0]
    fs, path = fsspec.core.url_to_fs(directory if directory != "memory:/" else "memory://")
    return sorted(name.rpartition("/")[2] for name in fs.ls(path, detail=False)) if fs.exists(path) else []


def test_a_checkpoint_exists_from_its_save_to_its_deletion(prefix: str) -> None:
    assert not checkpoint_exists(prefix)
    write_checkpoint(prefix, {"w": np.arange(3), "a/b": np.array([[b"x"]], object)})
    assert checkpoint_exists(prefix)
    assert list_variables(prefix) == [("a/b", [1, 1]), ("w", [3])]
    with CheckpointReader(prefix) as reader:
        assert reader.get_tensor("w").tolist() == [0, 1, 2]
    delete_checkpoint(prefix)
    assert not checkpoint_exists(prefix)
    assert files(prefix) == []
    delete_checkpoint(prefix)  # and again: nothing there is fine


def test_overwriting_leaves_the_files_of_one_checkpoint(prefix: str) -> None:
    for value in range(3):
        write_checkpoint(prefix, {"w": np.full(4, value), "b": np.full(4, value)}, max_shard_bytes=40)
        read = CheckpointReader(prefix).read(["b", "w"])
        assert {int(x) for array in read.values() for x in array} == {value}
        assert len(files(prefix)) == 3


def test_the_index_has_the_name_that_programs_look_for(prefix: str) -> None:
    write_checkpoint(prefix, {"w": np.zeros(2)})
    data, index = files(prefix)
    assert index == "model.ckpt-1.index"
    assert data.startswith("model.ckpt-1.data-00000-of-00001.")


def test_the_state_file_leads_to_the_latest_checkpoint(prefix: str) -> None:
    directory = prefix.rpartition("/")[0] + "/"
    assert latest_checkpoint(directory) is None
    update_checkpoint_state(directory, prefix)
    assert latest_checkpoint(directory) is None  # named, but not there
    write_checkpoint(prefix, {"w": np.zeros(2)})
    assert latest_checkpoint(directory) == prefix


def test_mtimes_are_those_of_the_checkpoints_that_exist(prefix: str) -> None:
    write_checkpoint(prefix, {})
    (time,) = get_checkpoint_mtimes([prefix + "0", prefix])
    assert 1.6e9 < time < 1e11


def test_a_missing_checkpoint_is_not_found(prefix: str) -> None:
    with pytest.raises(errors.NotFoundError, match=r"model\.ckpt-1"):
        CheckpointReader(prefix)


def test_local_mtimes_are_in_seconds(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "m", {})
    os.utime(tmp_path / "m.index", (1.5e9, 1.5e9))
    assert get_checkpoint_mtimes([tmp_path / "m"]) == [1.5e9]


def test_a_checkpoint_can_be_moved_and_renamed(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "model.ckpt-7", {"w": np.arange(3)})
    (tmp_path / "export").mkdir()
    for path in tmp_path.glob("model.ckpt-7.*"):
        shutil.move(path, tmp_path / "export" / path.name.replace("model.ckpt-7", "best"))
    assert CheckpointReader(tmp_path / "export" / "best").get_tensor("w").tolist() == [0, 1, 2]


def test_deleting_a_checkpoint_of_tensorflow_removes_its_data_and_nothing_else(tmp_path: Path) -> None:
    for name in (
        "m.index",
        "m.data-00000-of-00002",
        "m.data-00001-of-00002",
        "m.meta",
        "m2.data-00000-of-00001",
    ):
        (tmp_path / name).touch()
    delete_checkpoint(tmp_path / "m")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.meta", "m2.data-00000-of-00001"]


def test_deleting_in_a_directory_that_is_not_there_is_fine(tmp_path: Path) -> None:
    delete_checkpoint(tmp_path / "nowhere" / "m")


@pytest.mark.parametrize("upload", ["pipe_file", "_open"])
def test_a_failed_upload_is_typed_and_leaves_the_old_checkpoint(monkeypatch: pytest.MonkeyPatch, upload: str) -> None:
    prefix = "memory://failed/m"
    write_checkpoint(prefix, {"w": np.zeros(2)})

    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("the wire was cut")

    monkeypatch.setattr(MemoryFileSystem, upload, fail)
    with pytest.raises(errors.UnknownError, match=r"cannot save checkpoint memory://failed/m.*the wire was cut"):
        write_checkpoint(prefix, {"w": np.ones(2)})
    monkeypatch.undo()
    assert CheckpointReader(prefix).get_tensor("w").tolist() == [0, 0]
    assert len(files(prefix)) == 2


def test_a_reader_of_a_remote_checkpoint_that_was_overwritten_says_what_is_gone() -> None:
    write_checkpoint("memory://gone/m", {"w": np.zeros(2)})
    reader = CheckpointReader("memory://gone/m")
    write_checkpoint("memory://gone/m", {"w": np.ones(2)})
    with pytest.raises(errors.NotFoundError, match=r"m\.data-00000.*tensor 'w'"):
        reader.get_tensor("w")


def test_an_unknown_kind_of_url_is_refused() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="nosuch"):
        write_checkpoint("nosuch://bucket/m", {})
