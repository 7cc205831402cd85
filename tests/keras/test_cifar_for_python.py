"""CIFAR as Keras 2 keeps it in its cache: an archive of pickles."""

from __future__ import annotations

import io
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.keras.datasets.python_batches import load_batch


def _batch(count: int, seed: int, *keys: bytes) -> dict[bytes, Any]:
    random = np.random.RandomState(seed)
    data = random.randint(0, 256, (count, 3072)).astype(np.uint8)
    return {b"data": data, **{key: random.randint(0, 10, count).tolist() for key in keys}}


def _archive(path: Path, folder: str, files: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            text = pickle.dumps(content, protocol=2)
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))


def test_the_archive_in_the_cache_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    names = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
    files = {name: _batch(3, i, b"labels") for i, name in enumerate(names)}
    _archive(tmp_path / "datasets" / "cifar-10-batches-py.tar.gz", "cifar-10-batches-py", files)
    (x, y), (x_test, y_test) = tf.keras.datasets.cifar10.load_data()
    assert (x.shape, x.dtype, y.shape, y.dtype) == ((15, 32, 32, 3), np.uint8, (15, 1), np.uint8)
    np.testing.assert_array_equal(x[4].transpose(2, 0, 1).ravel(), files["data_batch_2"][b"data"][1])
    assert y[:3, 0].tolist() == files["data_batch_1"][b"labels"]
    assert (x_test.shape, y_test.ravel().tolist()) == ((3, 32, 32, 3), files["test_batch"][b"labels"])


def test_the_folder_of_the_archive_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    folder = tmp_path / "datasets" / "cifar-100-python"
    folder.mkdir(parents=True)
    for i, name in enumerate(("train", "test")):
        (folder / name).write_bytes(pickle.dumps(_batch(2, i, b"fine_labels", b"coarse_labels")))
    (_, fine), _ = tf.keras.datasets.cifar100.load_data()
    (_, coarse), _ = tf.keras.datasets.cifar100.load_data("coarse")
    wanted = _batch(2, 0, b"fine_labels", b"coarse_labels")
    assert (fine.ravel().tolist(), coarse.ravel().tolist()) == (wanted[b"fine_labels"], wanted[b"coarse_labels"])


def test_a_pickle_of_anything_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data_batch_1"
    path.write_bytes(pickle.dumps({b"data": print, b"labels": []}))
    with pytest.raises(ValueError, match=r"builtins\.print is no part of a batch"):
        load_batch(path)


class _Forged:
    """An array that says that its eight bytes are a reference to an object."""

    def __reduce__(self) -> Any:
        make, *given = np.zeros(1).__reduce__()[:2]
        return make, given[0], (1, (1,), np.dtype(object), False, b"\x00" * 8)


def test_an_array_whose_memory_would_be_references_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data_batch_1"
    path.write_bytes(pickle.dumps({b"data": _Forged(), b"labels": []}))
    with pytest.raises(ValueError, match="an array of no data is no part of a batch"):
        load_batch(path)


def test_a_batch_that_is_cut_off_is_named(tmp_path: Path) -> None:
    path = tmp_path / "data_batch_1"
    for length in (0, 3, 20):
        path.write_bytes(pickle.dumps(_batch(2, 0, b"labels"))[:length])
        with pytest.raises(ValueError, match="data_batch_1 is no batch of CIFAR"):
            load_batch(path)
