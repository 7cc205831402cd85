"""Markers of first runs: what another process may do to them at the same moment."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from penstock.codegen.c import object_cache
from penstock.codegen.c.object_cache import ObjectCache


def _marker(cache: ObjectCache) -> Path:
    with cache.watch("f", "about f"):
        (marker,) = cache.folder.glob("*.running")
    assert not marker.exists()
    return marker


def test_a_marker_that_another_process_removes_meanwhile_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = ObjectCache(tmp_path / "cache", "")
    marker = _marker(cache)
    marker.write_text("1 0\n")

    def open_when_removed(path: Any, flags: int, *rest: Any) -> int:
        try:
            return kept(path, flags, *rest)
        except FileExistsError:
            marker.unlink()  # by its process, which has ended its first run
            raise

    kept = os.open
    monkeypatch.setattr(object_cache.os, "open", open_when_removed)
    with cache.watch("f", "about f") as suspected:
        assert not suspected


def test_a_marker_that_is_about_to_be_written_makes_nothing_suspect(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path / "cache", "")
    marker = _marker(cache)
    marker.touch()
    with cache.watch("f", "about f") as suspected:
        assert not suspected and marker.exists()
    before = time.time() - 3600
    os.utime(marker, (before, before))
    with cache.watch("f", "about f") as suspected:
        assert suspected
    assert not marker.exists()


def test_an_error_of_the_first_run_is_raised_as_it_is(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path / "cache", "")
    _marker(cache).write_text("1 never\n")  # of a process that has ended: its number has another by now
    with pytest.raises(FileNotFoundError, match="mine"), cache.watch("f", "about f") as suspected:
        assert suspected
        raise FileNotFoundError("mine")
