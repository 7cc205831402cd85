"""tf.contrib.learn: ids of words and bytes, and small data sets."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import penstock as tf

preprocessing = tf.contrib.learn.preprocessing
datasets = tf.contrib.learn.datasets
TEXTS = ["the cat sat", "the dog sat on the HelloWorld cat", "it's a well-known NASAs cat"]


def test_words_get_ids_in_the_order_in_which_they_come() -> None:
    processor = preprocessing.VocabularyProcessor(5)
    rows = np.array(list(processor.fit_transform(TEXTS)))
    assert rows.tolist() == [[1, 2, 3, 0, 0], [1, 4, 3, 5, 1], [8, 9, 10, 11, 12]]
    assert rows.dtype == np.int64
    assert len(processor.vocabulary_) == 13
    assert next(processor.transform(["the unknown cat"])).tolist() == [1, 0, 2, 0, 0]
    assert list(processor.reverse([[1, 2, 0]])) == ["the cat <UNK>"]
    assert list(preprocessing.tokenizer(["HelloWorld NASA's it's"])) == [["Hello", "World", "NASA", "'s", "it's"]]


def test_rare_words_are_unknown_and_frequent_ones_come_first(tmp_path: Path) -> None:
    processor = preprocessing.VocabularyProcessor(4, min_frequency=1)
    rows = [row.tolist() for row in processor.fit_transform(TEXTS)]
    assert rows[0] == [2, 1, 3, 0]  # three cats and three "the", two "sat"
    assert len(processor.vocabulary_) == 4
    processor.save(str(tmp_path / "vocabulary"))
    restored = preprocessing.VocabularyProcessor.restore(str(tmp_path / "vocabulary"))
    assert [row.tolist() for row in restored.transform(TEXTS)] == rows


def test_files_of_vocabularies_hold_no_code(tmp_path: Path) -> None:
    path, restore = tmp_path / "vocabulary", preprocessing.VocabularyProcessor.restore
    letters = preprocessing.VocabularyProcessor(3, tokenizer_fn=lambda texts: map(list, texts))
    rows = [row.tolist() for row in letters.fit_transform(["ab", "bc"])]
    letters.save(path)
    with pytest.raises(ValueError, match="has a tokenizer_fn of its own"):
        restore(path)
    assert [row.tolist() for row in restore(path, lambda texts: map(list, texts)).transform(["ab", "bc"])] == rows
    for data, said in ((pickle.dumps(len), "could run any code"), (b'{"format": 3}', "is no VocabularyProcessor")):
        path.write_bytes(data)
        with pytest.raises(tf.errors.DataLossError, match=rf"vocabulary is .*{said}|{said}"):
            restore(path)


def letters_of(texts: Iterable[str]) -> Iterable[list[str]]:
    return [list(text) for text in texts]


def test_a_vocabulary_in_a_file_finds_the_function_of_the_program_that_made_its_words(tmp_path: Path) -> None:
    processor = preprocessing.VocabularyProcessor(3, tokenizer_fn=letters_of)
    rows = [row.tolist() for row in processor.fit_transform(["ab", "bc"])]
    processor.save(tmp_path / "vocabulary")
    restored = preprocessing.VocabularyProcessor.restore(tmp_path / "vocabulary")
    assert [row.tolist() for row in restored.transform(["ab", "bc"])] == rows == [[1, 2, 0], [2, 3, 0]]


def test_a_vocabulary_can_be_made_by_hand() -> None:
    vocabulary = preprocessing.CategoricalVocabulary()
    assert [vocabulary.get(word) for word in ("a", "b", "a")] == [1, 2, 1]
    for word, count in (("a", 2), ("b", 7), ("c", 3)):
        vocabulary.add(word, count)
    vocabulary.trim(2, 7)
    vocabulary.freeze()
    assert [vocabulary.get(word) for word in ("c", "a", "b")] == [1, 0, 0]
    with pytest.raises(ValueError, match="support_reverse"):
        preprocessing.CategoricalVocabulary(support_reverse=False).reverse(0)
    split = preprocessing.VocabularyProcessor(3, vocabulary=vocabulary, tokenizer_fn=lambda texts: map(list, texts))
    assert next(split.transform(["cab"])).tolist() == [1, 0, 0]


def test_documents_are_bytes_and_back() -> None:
    processor = preprocessing.ByteProcessor(4)
    rows = list(processor.fit_transform(["abc", "äbc", b"xyzvw"]))
    assert [row.tolist() for row in rows] == [[97, 98, 99, 0], [195, 164, 98, 99], [120, 121, 122, 118]]
    assert list(processor.reverse(np.array(rows))) == ["abc", "äbc", "xyzv"]
    assert list(processor.reverse([np.array([195, 0])])) == [""]


def test_tables_are_read_with_and_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("2,3,red,blue\n1.5,2,3,0\n4,5,6,1\n")
    read = datasets.base.load_csv_with_header(str(tmp_path / "a.csv"), target_dtype=int, features_dtype=np.float32)
    assert read.data.tolist() == [[1.5, 2, 3], [4, 5, 6]]
    assert read.data.dtype == np.float32
    assert read.target.tolist() == [0, 1]
    (tmp_path / "b.csv").write_text("7,1.5,2\n8,4,5\n")
    read = datasets.base.load_csv_without_header(str(tmp_path / "b.csv"), int, float, target_column=0)
    assert (read.data.tolist(), read.target.tolist()) == ([[1.5, 2], [4, 5]], [7, 8])
    (tmp_path / "c.csv").write_text("3,3,red,blue\n1.5,2,3,0\n")
    with pytest.raises(ValueError, match="says 3 rows of 3 features, but it has 1 of 3"):
        datasets.base.load_csv_with_header(str(tmp_path / "c.csv"), int, float)


def test_the_irises_are_there_and_nothing_is_downloaded(tmp_path: Path) -> None:
    data, target = datasets.load_dataset("iris")
    assert (data.shape, target.tolist()) == ((150, 4), [0] * 50 + [1] * 50 + [2] * 50)
    np.testing.assert_allclose(data.mean(0), [5.843333, 3.054, 3.758667, 1.198667], atol=1e-6)  # as published
    assert data[0].tolist() == [5.1, 3.5, 1.4, 0.2]
    with pytest.raises(ValueError, match="'dbpedia' does not come with Penstock"):
        datasets.load_dataset("dbpedia")
    with pytest.raises(FileNotFoundError, match=r"put there what is at http://example\.org/x"):
        datasets.base.maybe_download("x", str(tmp_path), "http://example.org/x")
    (tmp_path / "x").write_text("")
    assert datasets.base.maybe_download("x", str(tmp_path), "http://example.org/x") == str(tmp_path / "x")


def test_the_prices_of_houses_are_there() -> None:
    data, target = datasets.load_dataset("boston")
    assert (data.shape, target.shape) == ((506, 13), (506,))
    assert data[0].tolist() == [0.00632, 18, 2.31, 0, 0.538, 6.575, 65.2, 4.09, 1, 296, 15.3, 396.9, 4.98]  # published
    assert (target[0], target.min(), target.max()) == (24, 5, 50)
    np.testing.assert_allclose([target.mean(), data[:, 0].mean()], [22.532806, 3.613524], atol=1e-6)
