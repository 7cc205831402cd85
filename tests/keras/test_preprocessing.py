"""Sequences, texts and labels as arrays."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

P = tf.keras.preprocessing


def test_sequences_are_padded_and_cut_before_or_after() -> None:
    sequences = [[1], [1, 2, 3], []]
    pad = P.sequence.pad_sequences
    np.testing.assert_array_equal(pad(sequences), [[0, 0, 1], [1, 2, 3], [0, 0, 0]])
    np.testing.assert_array_equal(pad(sequences, 2, padding="post", value=9), [[1, 9], [2, 3], [9, 9]])
    np.testing.assert_array_equal(pad(sequences, 2, truncating="post"), [[0, 1], [1, 2], [0, 0]])
    with pytest.raises(ValueError, match="non-iterable: 3"):
        pad([[1], 3])


def test_a_tokenizer_numbers_words_by_how_often_they_occur() -> None:
    tokenizer = P.text.Tokenizer()
    tokenizer.fit_on_texts(["The cat sat on the mat.", "The dog!"])
    assert tokenizer.word_index == {"the": 1, "cat": 2, "sat": 3, "on": 4, "mat": 5, "dog": 6}
    assert tokenizer.texts_to_sequences(["the dog sat, unseen"]) == [[1, 6, 3]]
    np.testing.assert_array_equal(tokenizer.texts_to_matrix(["the the dog"], "count"), [[0, 2, 0, 0, 0, 0, 1]])
    limited = P.text.Tokenizer(num_words=3, oov_token="?")
    limited.fit_on_texts(["a a a b b c"])
    assert limited.texts_to_sequences(["a b c d"]) == [[2, 1, 1, 1]]
    assert P.text.text_to_word_sequence("Hello, World") == ["hello", "world"]


def test_labels_become_rows_with_a_one() -> None:
    np.testing.assert_array_equal(tf.keras.utils.to_categorical([2, 0]), [[0, 0, 1], [1, 0, 0]])
    assert tf.keras.utils.to_categorical(np.array([[1], [0]]), 4).shape == (2, 4)
    np.testing.assert_allclose(tf.keras.utils.normalize(np.array([[3.0, 4.0]])), [[0.6, 0.8]])


def test_a_data_set_in_the_cache_needs_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    folder = tmp_path / "datasets" / "fashion-mnist"
    folder.mkdir(parents=True)
    for part, count in (("train", 3), ("t10k", 2)):
        with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(bytes(8) + bytes(range(count)))
        with gzip.open(folder / f"{part}-images-idx3-ubyte.gz", "wb") as file:
            file.write(bytes(16) + bytes(count * 784))
    (x, y), (x_test, _) = tf.keras.datasets.fashion_mnist.load_data()
    assert x.shape == (3, 28, 28)
    assert y.tolist() == [0, 1, 2]
    assert len(x_test) == 2


def test_without_a_network_the_error_says_where_to_put_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(*args: Any, **kwargs: Any) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr("urllib.request.urlopen", offline)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    with pytest.raises(OSError, match=r"no route to host.*datasets/mnist\.npz"):
        tf.keras.datasets.mnist.load_data()


def test_contrib_keras_is_keras() -> None:
    from penstock.contrib.keras.layers import Dense
    from penstock.contrib.keras.preprocessing.sequence import pad_sequences

    assert Dense is tf.keras.layers.Dense
    assert pad_sequences is P.sequence.pad_sequences
    assert tf.contrib.keras.models.Sequential is tf.keras.Sequential is tf.contrib.keras.Sequential


def test_contrib_keras_has_the_inner_modules_of_keras() -> None:
    from penstock.contrib.keras.api.keras.optimizers import Adam
    from penstock.contrib.keras.python import keras
    from penstock.contrib.keras.python.keras.engine import topology
    from penstock.contrib.keras.python.keras.layers import Dense

    assert Dense is tf.keras.layers.Dense is keras.layers.Dense
    assert Adam is tf.keras.optimizers.Adam
    assert topology.Layer is tf.keras.layers.Layer


def test_skipgrams_are_pairs_of_near_words_and_random_ones() -> None:
    couples, labels = P.sequence.skipgrams([1, 2, 0, 3], 9, window_size=1, negative_samples=0, shuffle=False)
    assert (couples, labels) == ([[1, 2], [2, 1]], [1, 1])
    couples, labels = P.sequence.skipgrams(list(range(1, 9)), 9, window_size=2, seed=3, categorical=True)
    near = [couple for couple, label in zip(couples, labels, strict=True) if label == [0, 1]]
    assert len(near) == len(couples) / 2 == 26
    assert all(0 < abs(a - b) <= 2 for a, b in near)
    table = P.sequence.make_sampling_table(1000)
    np.testing.assert_allclose(table[[0, 1, 999]], [0.00315225, 0.00315225, 0.27353], rtol=1e-3)


def test_windows_of_a_time_series_come_before_their_targets() -> None:
    data = np.arange(20)
    batches = P.sequence.TimeseriesGenerator(data, data * 10, length=6, sampling_rate=2, stride=3, batch_size=2)
    assert len(batches) == 3
    samples, targets = batches[0]
    np.testing.assert_array_equal(samples, [[0, 2, 4], [3, 5, 7]])
    np.testing.assert_array_equal(targets, [60, 90])
    np.testing.assert_array_equal(batches[2][1], [180])
    with pytest.raises(ValueError, match="disallowed"):
        P.sequence.TimeseriesGenerator(data, data, length=30)
