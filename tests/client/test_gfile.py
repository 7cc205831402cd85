"""tf.gfile on local paths and on another file system of fsspec's."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock as tf

gfile = tf.gfile


@pytest.fixture(params=["local", "memory"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "local":
        return str(tmp_path)
    place = f"memory://gfile{tmp_path}"
    gfile.MakeDirs(place)
    return place


def test_text_written_is_text_read(root: str) -> None:
    with gfile.GFile(f"{root}/a.txt", "w") as file:
        file.write("één\ntwo\n")
    with gfile.Open(f"{root}/a.txt") as file:
        assert file.readline() == "één\n"
        assert file.tell() > 0
        assert list(file) == ["two\n"]
    assert gfile.FastGFile(f"{root}/a.txt", "rb").read() == "één\ntwo\n".encode()
    assert gfile.GFile(f"{root}/a.txt").size() == 10
    assert gfile.Stat(f"{root}/a.txt").length == 10


def test_text_and_bytes_are_written_in_any_mode(root: str) -> None:
    for mode in ("w", "wb"):
        with gfile.GFile(f"{root}/a", mode) as file:
            file.write("é")
            file.write(b"\xff\x00")
            file.write("n")
        assert gfile.GFile(f"{root}/a", "rb").read() == b"\xc3\xa9\xff\x00n"


def test_what_is_no_text_is_read_as_bytes(root: str) -> None:
    """Images that programs open with "r"."""
    image = b"a\n\xff\xd8\x00"
    with gfile.GFile(f"{root}/a", "wb") as file:
        file.write(image)
    assert gfile.FastGFile(f"{root}/a", "r").read() == image


def test_directories_are_made_listed_walked_and_deleted(root: str) -> None:
    gfile.MakeDirs(f"{root}/x/y")
    gfile.MakeDirs(f"{root}/x/y")
    with gfile.GFile(f"{root}/x/b.bin", "wb") as file:
        file.write(b"\x00")
    assert gfile.IsDirectory(f"{root}/x")
    assert not gfile.IsDirectory(f"{root}/x/b.bin")
    assert gfile.ListDirectory(f"{root}/x") == ["b.bin", "y"]
    assert list(gfile.Walk(f"{root}/x")) == [(f"{root}/x", ["y"], ["b.bin"]), (f"{root}/x/y", [], [])]
    gfile.DeleteRecursively(f"{root}/x")
    assert not gfile.Exists(f"{root}/x")


def test_glob_gives_paths_in_the_form_of_the_pattern(root: str) -> None:
    for name in ("b.txt", "a.txt", "c.bin"):
        gfile.GFile(f"{root}/{name}", "w").__enter__().close()
    assert gfile.Glob(f"{root}/*.txt") == [f"{root}/a.txt", f"{root}/b.txt"]
    assert gfile.Glob([f"{root}/c*", f"{root}/none*"]) == [f"{root}/c.bin"]


def test_glob_finds_in_folders_what_patterns_with_wildcards_name(root: str) -> None:
    gfile.MakeDirs(f"{root}/d/e")
    for name in ("d/a.txt", "d/e/b.txt", "p.txt"):
        gfile.GFile(f"{root}/{name}", "w").__enter__().close()
    assert gfile.Glob(f"{root}/*/a*") == [f"{root}/d/a.txt"]
    assert gfile.Glob(f"{root}/d/*/*.txt") == [f"{root}/d/e/b.txt"]
    assert gfile.Glob([f"{root}/p*", f"{root}/d/a*"]) == [f"{root}/p.txt", f"{root}/d/a.txt"]
    assert gfile.Glob(f"{root}/none") == gfile.Glob(f"{root}/*/") == []
    with pytest.raises(tf.errors.NotFoundError, match="none"):
        gfile.Glob(f"{root}/none/*")


def test_glob_of_the_current_folder_begins_with_a_dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts as TensorFlow 1.15 gives them."""
    (tmp_path / "d").mkdir()
    for name in ("p.txt", "d/q.txt"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    assert gfile.Glob("p.*") == gfile.Glob("p.txt") == gfile.Glob("./p*") == ["./p.txt"]
    assert gfile.Glob("*") == ["./d", "./p.txt"]
    assert gfile.Glob("*/q*") == ["./d/q.txt"]
    assert gfile.Glob("d/*") == ["d/q.txt"]


def test_a_loop_over_a_file_that_has_no_name_reads_its_lines(root: str) -> None:
    with gfile.GFile(f"{root}/a", "w") as file:
        file.write("one\ntwo")
    assert [line for line in gfile.GFile(f"{root}/a")] == ["one\n", "two"]  # noqa: C416 (the loop is what is tested)
    assert list(gfile.GFile(f"{root}/a", "rb")) == [b"one\n", b"two"]


def test_making_a_directory_that_is_there_is_fine(root: str) -> None:
    gfile.MkDir(f"{root}/d")
    gfile.MkDir(f"{root}/d")
    assert gfile.IsDirectory(f"{root}/d")


def test_copy_and_rename_replace_only_when_told_to(root: str) -> None:
    for name in "ab":
        with gfile.GFile(f"{root}/{name}", "w") as file:
            file.write(name)
    with pytest.raises(tf.errors.AlreadyExistsError, match="overwrite=True"):
        gfile.Copy(f"{root}/a", f"{root}/b")
    gfile.Copy(f"{root}/a", f"{root}/b", overwrite=True)
    gfile.Rename(f"{root}/b", f"{root}/c")
    assert gfile.GFile(f"{root}/c").read() == "a"
    assert not gfile.Exists(f"{root}/b")
    gfile.Remove(f"{root}/c")
    assert not gfile.Exists(f"{root}/c")


def test_what_is_not_there_raises_not_found_and_names_the_path(root: str) -> None:
    for missing in (gfile.Remove, gfile.ListDirectory, gfile.DeleteRecursively, gfile.Stat):
        with pytest.raises(tf.errors.NotFoundError, match="nothing"):
            missing(f"{root}/nothing")
    with pytest.raises(tf.errors.NotFoundError, match="nothing"):
        gfile.GFile(f"{root}/nothing").read()


def test_a_mode_that_does_not_exist_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="'x'"):
        gfile.GFile("a", "x")


def test_paths_may_be_bytes(tmp_path: Path) -> None:
    path = str(tmp_path / "file").encode()
    with tf.gfile.GFile(path, "w") as file:
        file.write("text")
    assert tf.gfile.Exists(path) and tf.gfile.Glob(path) == [str(tmp_path / "file")]
    assert tf.gfile.ListDirectory(str(tmp_path).encode()) == ["file"]
    tf.gfile.Remove(path)
    with pytest.raises(tf.errors.NotFoundError, match=str(tmp_path / "file")):
        tf.gfile.Remove(path)


def test_the_lower_case_names_of_tf_io_gfile_do_the_same(root: str) -> None:
    lower = tf.io.gfile
    lower.mkdir(f"{root}/d")
    lower.makedirs(f"{root}/d/e/f")
    with lower.GFile(f"{root}/d/a.txt", "w") as file:
        file.write("text")
    lower.copy(f"{root}/d/a.txt", f"{root}/d/b.txt")
    lower.rename(src=f"{root}/d/b.txt", dst=f"{root}/d/c.txt")
    assert lower.exists(f"{root}/d/c.txt") and not lower.exists(f"{root}/d/b.txt")
    assert lower.listdir(path=f"{root}/d") == ["a.txt", "c.txt", "e"]
    assert lower.glob(f"{root}/d/*.txt") == [f"{root}/d/a.txt", f"{root}/d/c.txt"]
    assert lower.stat(f"{root}/d/c.txt").length == 4
    assert [top for top, _, _ in lower.walk(f"{root}/d", topdown=False)] == [
        f"{root}/d/e/f", f"{root}/d/e", f"{root}/d"
    ]  # fmt: skip
    lower.remove(f"{root}/d/c.txt")
    lower.rmtree(f"{root}/d")
    assert not lower.isdir(f"{root}/d")
    assert not hasattr(tf.gfile, "exists")  # as in TensorFlow


def test_walk_tells_of_a_directory_that_is_not_there(root: str) -> None:
    told: list[Exception] = []
    assert list(tf.io.gfile.walk(f"{root}/none", onerror=told.append)) == []
    assert [type(error) for error in told] == [tf.errors.NotFoundError]
    assert list(gfile.Walk(f"{root}/none")) == []
