"""Data sets of lists of numbers, which are published as NumPy's object arrays: read, but never run."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib import format as npy

import penstock as tf
from penstock.keras.datasets.object_arrays import read_array

LISTS = [[5, 70_000, 1], [300], [], list(range(2500)), [2**20, 255, 256]]


def published(path: Path, arrays: dict[str, Any], protocol: int = 3) -> str:
    """A .npz file, its arrays of objects pickled with a protocol; what is no array is put into a pickle as it is."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in arrays.items():
            file = io.BytesIO()
            if isinstance(value, np.ndarray) and not value.dtype.hasobject:
                np.save(file, value)
            else:
                header = {"descr": "|O", "fortran_order": False, "shape": np.shape(value) or (3,)}
                npy.write_array_header_1_0(file, header)
                pickle.dump(value, file, protocol=protocol)
            archive.writestr(f"{name}.npy", file.getvalue())
    return str(path)


def objects(lists: list[Any]) -> np.ndarray:
    array = np.empty(len(lists), object)
    array[:] = lists
    return array


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_lists_of_numbers_are_read_without_running_their_pickle(tmp_path: Path, protocol: int) -> None:
    labels = np.arange(5)
    path = published(tmp_path / "a.npz", {"x": objects(LISTS), "y": labels, "z": objects(labels.tolist())}, protocol)
    assert read_array(path, "x").tolist() == LISTS
    np.testing.assert_array_equal(read_array(path, "y"), labels)
    assert read_array(path, "z").tolist() == labels.tolist()


class Harmful:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("a pickle was run",))


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_with_anything_else_is_refused(tmp_path: Path, protocol: int) -> None:
    for value in (objects([[1], Harmful(), [2]]), objects([[1], {"a": 1}, [2]]), Harmful(), [1, 2, 3]):
        path = published(tmp_path / "a.npz", {"x": value}, protocol)
        with pytest.raises(ValueError, match="not an array of lists of numbers"):
            read_array(path, "x")


def test_damaged_pickles_are_errors(tmp_path: Path) -> None:
    whole = pickle.dumps(objects(LISTS[:3]), protocol=3)
    random = np.random.RandomState(0)
    for i in range(300):
        data = bytearray(whole)
        data[random.randint(len(data))] ^= 1 << random.randint(8)
        data = data[: random.randint(len(data))] if i % 3 == 0 else data
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            file = io.BytesIO()
            npy.write_array_header_1_0(file, {"descr": "|O", "fortran_order": False, "shape": (3,)})
            archive.writestr("x.npy", file.getvalue() + bytes(data))
        with contextlib.suppress(ValueError):
            assert len(read_array(tmp_path / "a.npz", "x")) == 3


def test_reviews_are_numbered_shuffled_and_cut_as_in_keras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [[1, 9, 2], [3], [4, 4, 4, 4], [5, 6]]
    file = {"x_train": objects(texts), "y_train": np.arange(4), "x_test": objects(texts[::-1]), "y_test": np.arange(4)}
    path = published(tmp_path / "imdb.npz", file)
    monkeypatch.setattr("penstock.keras.datasets.texts.get_file", lambda *args, **kwargs: path)
    (x, y), (_, y_test) = tf.keras.datasets.imdb.load_data(num_words=8, skip_top=5)
    np.random.seed(113)  # Keras' own steps
    order = np.arange(4)
    np.random.shuffle(order)
    np.testing.assert_array_equal(y, order)
    wanted = [[2, *(w + 3 if 5 <= w + 3 < 8 else 2 for w in texts[i])] for i in order]
    assert x.tolist() == wanted
    np.random.shuffle(order := np.arange(4))
    np.testing.assert_array_equal(y_test, order)
    (x, _), _ = tf.keras.datasets.imdb.load_data(start_char=None, oov_char=None, index_from=0, num_words=5, maxlen=3)
    assert all(len(words) < 3 for words in x)
    (same, _), _ = tf.keras.datasets.imdb.load_data(
        start_char=None, oov_char=None, index_from=None, num_words=5, maxlen=3
    )
    assert sorted(same.tolist()) == sorted(x.tolist())


def test_news_are_split_and_words_have_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = published(tmp_path / "reuters.npz", {"x": objects([[i] for i in range(10)]), "y": np.arange(10)})
    monkeypatch.setattr("penstock.keras.datasets.texts.get_file", lambda *args, **kwargs: path)
    (x, y), (x_test, y_test) = tf.keras.datasets.reuters.load_data(num_words=100)
    assert len(x) == 8
    assert [words[1] - 3 for words in [*x, *x_test]] == [*y, *y_test]
    words = tmp_path / "words.json"
    words.write_text(json.dumps({"the": 1}))
    monkeypatch.setattr("penstock.keras.datasets.texts.get_file", lambda *args, **kwargs: str(words))
    assert tf.keras.datasets.reuters.get_word_index() == {"the": 1}
    assert tf.keras.datasets.imdb.get_word_index() == {"the": 1}


def test_the_prices_of_houses_come_in_the_order_of_keras() -> None:
    (x, y), (held_out, _) = tf.keras.datasets.boston_housing.load_data()
    assert (x.shape, held_out.shape) == ((404, 13), (102, 13))
    first = [1.23247, 0, 8.14, 0, 0.538, 6.142, 91.7, 3.9769, 4, 307, 21, 396.9, 18.72]  # as Keras' books print it
    assert (x[0].tolist(), y[0]) == (first, 15.2)
