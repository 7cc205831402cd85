"""Data sets of texts as lists of word numbers (TF: tf.keras.datasets.imdb, tf.keras.datasets.reuters)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from penstock.export import export
from penstock.keras.datasets.object_arrays import read_array
from penstock.keras.utils.files import get_file

_PUBLISHED = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
_HASHES = {
    "imdb": "69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f",
    "reuters": "d6586e694ee56d7a4e65172e12b3e987c03096cb01eab99753921ef915959916",
}
Pair = tuple[np.ndarray, np.ndarray]


@export("keras.datasets.imdb.load_data")
def imdb(
    path: str = "imdb.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int | None = 3,
    **kwargs: Any,
) -> tuple[Pair, Pair]:
    """Reviews of films, and whether they are positive: (25000 lists of word numbers, labels), (25000 of them).

    Words are numbered by how often they occur, from `index_from` + 1 on. Those from `num_words` on and those below
    `skip_top` become `oov_char`, or are left out if it is None. A text begins with `start_char`. Only texts shorter
    than `maxlen` are kept.
    """
    num_words = _no_more(kwargs, num_words)
    found = get_file(path, _PUBLISHED + "imdb.npz", file_hash=_HASHES["imdb"])
    random = np.random.RandomState(seed)
    texts: list[Any] = []
    labels: list[Any] = []
    for part in ("train", "test"):
        x, y = read_array(found, f"x_{part}"), read_array(found, f"y_{part}")
        order = random.permutation(len(x))
        texts.append(x[order])
        labels.append(y[order])
    at = len(texts[0])
    x, y = np.concatenate(texts), np.concatenate(labels)
    x, y = _numbered(x, y, num_words, skip_top, maxlen, start_char, oov_char, index_from)
    return (x[:at], y[:at]), (x[at:], y[at:])


@export("keras.datasets.reuters.load_data")
def reuters(
    path: str = "reuters.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    test_split: float = 0.2,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int | None = 3,
    **kwargs: Any,
) -> tuple[Pair, Pair]:
    """News and their 46 topics: (8982 lists of word numbers, topics), (2246 of them); arguments as for imdb."""
    num_words = _no_more(kwargs, num_words)
    found = get_file(path, _PUBLISHED + "reuters.npz", file_hash=_HASHES["reuters"])
    x, y = read_array(found, "x"), read_array(found, "y")
    order = np.random.RandomState(seed).permutation(len(x))
    x, y = _numbered(x[order], y[order], num_words, skip_top, maxlen, start_char, oov_char, index_from)
    at = int(len(x) * (1 - test_split))
    return (x[:at], y[:at]), (x[at:], y[at:])


@export("keras.datasets.imdb.get_word_index")
def imdb_words(path: str = "imdb_word_index.json") -> dict[str, int]:
    """The number of each word."""
    return _words(path, "imdb_word_index.json", "bfafd718b763782e994055a2d397834f")


@export("keras.datasets.reuters.get_word_index")
def reuters_words(path: str = "reuters_word_index.json") -> dict[str, int]:
    """The number of each word."""
    return _words(path, "reuters_word_index.json", "4d44cc38712099c9e383dc6e5f11a921")


def _words(path: str, name: str, file_hash: str) -> dict[str, int]:
    with open(get_file(path, _PUBLISHED + name, file_hash=file_hash), encoding="utf-8") as file:
        words: dict[str, int] = json.load(file)
    return words


def _no_more(kwargs: dict[str, Any], num_words: int | None) -> int | None:
    num_words = kwargs.pop("nb_words", num_words)
    if kwargs:
        raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
    return num_words


def _numbered(
    texts: Any, labels: Any, num_words: Any, skip_top: int, maxlen: Any, start: Any, other: Any, index_from: int | None
) -> Pair:
    before = [] if start is None else [start]
    lists = [[*before, *((word + index_from for word in text) if index_from else text)] for text in texts]
    if maxlen is not None:
        kept = [i for i, words in enumerate(lists) if len(words) < maxlen]
        lists, labels = [lists[i] for i in kept], labels[kept]
        if not lists:
            raise ValueError(f"After filtering for sequences shorter than maxlen={maxlen}, no sequence was kept.")
    end = num_words or max(max(words, default=0) for words in lists)  # the last word is left out, as in TensorFlow
    if other is not None:
        lists = [[word if skip_top <= word < end else other for word in words] for words in lists]
    else:
        lists = [[word for word in words if skip_top <= word < end] for words in lists]
    found = np.empty(len(lists), object)
    found[:] = lists
    return found, np.asarray(labels)
