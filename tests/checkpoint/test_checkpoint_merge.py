"""Checkpoints merged into one: by names for their data files where that can be, otherwise by copying."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock import errors
from penstock.checkpoint import local
from penstock.checkpoint.files import delete_checkpoint
from penstock.checkpoint.later import merge_checkpoints
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.slices import Slice, SlicedTensor
from penstock.checkpoint.writer import Format, write_checkpoint

FORMATS: tuple[Format, ...] = ("penstock", "tensorflow")
FULL = np.arange(12).reshape(4, 3)


def write_parts(directory: Path, formats: tuple[Format, ...]) -> list[str]:
    """Two checkpoints, each in two files, with different parts of one tensor."""
    for number, (rows, format) in enumerate(zip([slice(0, 1), slice(1, 4)], formats, strict=True)):
        part = SlicedTensor((4, 3), (Slice((rows.start, 0), FULL[rows]),))
        tensors = {"p": part, f"w{number}": np.full(2, number), f"s{number}": np.array([b"text"], object)}
        path = directory / f"part{number}"
        write_checkpoint(path, tensors, format=format, partly=True, max_shard_bytes=60)
    return [str(directory / "part0"), str(directory / "part1")]


def assert_merged(prefix: Path) -> None:
    with CheckpointReader(prefix) as reader:
        assert reader.get_tensor("p").tolist() == FULL.tolist()
        assert reader.get_slice("p", (0, 1), (3, 2)).tolist() == FULL[:3, 1:].tolist()
        assert reader.get_tensor("w1").tolist() == [1, 1]
        assert reader.get_tensor("s0").tolist() == [b"text"]


def inodes(directory: Path, pattern: str) -> set[int]:
    return {path.stat().st_ino for path in directory.glob(pattern) if path.stat().st_size}


@pytest.mark.parametrize("format", FORMATS)
def test_a_merged_checkpoint_has_the_data_files_of_its_parts(tmp_path: Path, format: Format) -> None:
    parts = write_parts(tmp_path, (format, format))
    before = inodes(tmp_path, "part*.data-*")
    merge_checkpoints(parts, str(tmp_path / "m"), format)
    assert inodes(tmp_path, "m.data-*") == before
    for part in parts:
        delete_checkpoint(part)
    assert_merged(tmp_path / "m")


@pytest.mark.parametrize("reason", ["other format", "no links", "mixed formats"])
@pytest.mark.parametrize("format", FORMATS)
def test_where_files_cannot_have_two_names_they_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: Format, reason: str
) -> None:
    other = FORMATS[format == FORMATS[0]]
    formats = {"other format": (other, other), "no links": (format, format), "mixed formats": FORMATS}
    parts = write_parts(tmp_path, formats[reason])

    def link(source: str, target: str) -> None:
        raise PermissionError(1, "no links here")

    if reason == "no links":
        monkeypatch.setattr(os, "link", link)
    merge_checkpoints(parts, str(tmp_path / "m"), format)
    assert not inodes(tmp_path, "part*.data-*") & inodes(tmp_path, "m.data-*")
    assert_merged(tmp_path / "m")
    assert not list(tmp_path.glob("m*.tmp"))


@pytest.mark.parametrize("format", FORMATS)
def test_parts_that_overlap_or_are_missing_are_refused(tmp_path: Path, format: Format) -> None:
    parts = write_parts(tmp_path, (format, format))
    with pytest.raises(errors.InvalidArgumentError, match="'p': the slices have 3 elements"):
        merge_checkpoints(parts[:1], str(tmp_path / "m"), format)
    with pytest.raises(errors.InvalidArgumentError, match=r"more than one|overlap|24 elements"):
        merge_checkpoints([*parts, *parts], str(tmp_path / "m"), format)
    with pytest.raises(errors.NotFoundError, match="part2"):
        merge_checkpoints([*parts, str(tmp_path / "part2")], str(tmp_path / "m"), format)
    merge_checkpoints([*parts, str(tmp_path / "part2")], str(tmp_path / "m"), format, allow_missing=True)
    assert_merged(tmp_path / "m")


class Killed(BaseException):
    pass


class Fatal:
    """`os` that ends the process, as it were, at one call, and does nothing afterwards."""

    def __init__(self, fatal: int) -> None:
        self.left = fatal

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in ("open", "write", "fsync", "replace", "link", "unlink", "listdir"):
            return real

        def act(*args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            if self.left <= 0:
                raise Killed
            return real(*args, **kwargs)

        return act


@pytest.mark.parametrize("format", FORMATS)
def test_a_merge_that_dies_leaves_the_old_checkpoint_or_the_new_one_and_the_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: Format
) -> None:
    seen = set()
    for call in itertools.count(1):
        directory = tmp_path / str(call)
        directory.mkdir()
        parts = write_parts(directory, (format, format))
        write_checkpoint(directory / "m", {"old": np.zeros(4), "x": np.zeros(4)}, format=format)
        died = False
        with monkeypatch.context() as patch:
            patch.setattr(local, "os", Fatal(call))
            try:
                merge_checkpoints(parts, str(directory / "m"), format)
            except Killed:
                died = True
        with CheckpointReader(directory / "m") as reader:
            seen.add(reader.has_tensor("old"))
            assert all(reader.read(reader.get_variable_to_shape_map()))
        merge_checkpoints(parts, str(directory / "m"), format)
        assert_merged(directory / "m")
        assert not list(directory.glob("m*.tmp"))
        if not died:
            break
    assert call > 15
    assert seen == {True, False}
