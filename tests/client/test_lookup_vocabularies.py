"""Words to ids and back: tables from files and lists, and ids for words that no table has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.contrib import lookup
from penstock.ops.farmhash import fingerprint64
from penstock.ops.string_hashing import sip_hash


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def words(table: Any, keys: Any) -> Any:
    found = table.lookup(tf.convert_to_tensor(keys))
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        return session.run(found).tolist()


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "vocabulary.txt"
    path.write_text(text)
    return str(path)


def test_lines_of_a_file_are_numbered(tmp_path: Path) -> None:
    path = write(tmp_path, "emerson\nlake\r\npalmer\n")
    assert words(lookup.index_table_from_file(path), ["lake", "palmer", "x"]) == [1, 2, -1]
    assert tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS)
    back = lookup.index_to_string_table_from_file(path, default_value="?")
    assert words(back, np.int64([2, 0, 9])) == [b"palmer", b"emerson", b"?"]


def test_columns_of_a_file_are_keys_and_values(tmp_path: Path) -> None:
    path = write(tmp_path, "a,1.5,x\nb,2.5,y\n")
    initializer = lookup.TextFileInitializer(path, tf.string, 2, tf.float32, 1, delimiter=",")
    assert words(lookup.HashTable(initializer, 0.0), ["y", "x", "a"]) == [2.5, 1.5, 0.0]


def test_only_the_first_lines_count_when_the_vocabulary_has_a_size(tmp_path: Path) -> None:
    path = write(tmp_path, "a\nb\nc\n")
    assert words(lookup.index_table_from_file(path, vocab_size=2), ["b", "c"]) == [1, -1]
    with tf.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError, match="expected 4 but got 3"):
        words(lookup.index_table_from_file(path, vocab_size=4), ["b"])


def test_bad_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError, match=r"nowhere\.txt"):
        words(lookup.index_table_from_file(str(tmp_path / "nowhere.txt")), ["b"])
    for text, column, message in [
        ("a\n", 1, "expected 2 got 1"),
        ("a\n", 0, "not a valid int64"),
        ("a\n\nb\n", -1, "empty line found at position 1"),
    ]:
        path = write(tmp_path, text)
        initializer = lookup.TextFileInitializer(path, tf.string, -2, tf.int64, column)
        with tf.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError, match=message):
            words(lookup.HashTable(initializer, 0), ["a"])
    with tf.Graph().as_default(), pytest.raises(tf.errors.OutOfRangeError, match="has no line"):
        words(lookup.index_table_from_file(write(tmp_path, "")), ["a"])


def test_a_file_may_be_in_any_file_system() -> None:
    with tf.gfile.GFile("memory://vocabularies/words.txt", "w") as file:
        file.write("a\nb\n")
    table = lookup.index_table_from_file("memory://vocabularies/words.txt")
    assert words(table, ["b", "a"]) == [1, 0]


def test_bad_arguments_of_a_file_are_refused() -> None:
    with pytest.raises(ValueError, match="vocab_size"):
        lookup.index_table_from_file("x", vocab_size=0)
    with pytest.raises(ValueError, match="int64"):
        lookup.TextFileInitializer("x", tf.string, -1, tf.int64, -1)
    with pytest.raises(ValueError, match="vocabulary_file"):
        lookup.index_table_from_file("")


def test_words_outside_the_vocabulary_get_ids_by_hash() -> None:
    table = lookup.index_table_from_tensor(["a", "b"], num_oov_buckets=5)
    assert words(table, ["b", "x", "y"]) == [1, 2 + fingerprint64(b"x") % 5, 2 + fingerprint64(b"y") % 5]
    strong = lookup.StrongHashSpec([1, 2])
    table = lookup.index_table_from_tensor(vocabulary_list=["a"], num_oov_buckets=9, hasher_spec=strong)
    assert words(table, ["x"]) == [1 + sip_hash(b"x", (1, 2)) % 9]
    size = table.size()
    with tf.Session() as session:
        session.run(table.init)
        assert session.run(size) == 10


def test_integers_are_hashed_as_text() -> None:
    table = lookup.index_table_from_tensor([10, 20], num_oov_buckets=4, dtype=tf.int64)
    assert words(table, np.int64([20, 7])) == [1, 2 + fingerprint64(b"7") % 4]
    alone = lookup.IdTableWithHashBuckets(None, 4)
    assert words(alone, ["q"]) == [fingerprint64(b"q") % 4]


def test_indices_become_strings() -> None:
    table = lookup.index_to_string_table_from_tensor(mapping=["a", "b"], default_value="UNKNOWN")
    assert words(table, np.int64([[1, 5]])) == [[b"b", b"UNKNOWN"]]


def test_the_older_functions_look_up_at_once() -> None:
    ids, text = lookup.string_to_index(["b"], ["a", "b"]), lookup.index_to_string(np.int64([0]), ["a", "b"])
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        assert session.run([ids, text]) == [[1], [b"a"]]


def test_a_static_vocabulary_table_has_ids_for_all_words(tmp_path: Path) -> None:
    path = write(tmp_path, "x\ny\n")
    initializer = tf.lookup.TextFileInitializer(
        path, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
    )
    table = tf.lookup.StaticVocabularyTable(initializer, num_oov_buckets=3)
    assert words(table, ["y", "new"]) == [1, 2 + fingerprint64(b"new") % 3]
    numbers = tf.lookup.KeyValueTensorInitializer(np.int64([30, 40]), np.int64([0, 1]))
    table = tf.lookup.StaticVocabularyTable(numbers, num_oov_buckets=3, lookup_key_dtype=tf.int32)
    assert words(table, np.int32([40, 7])) == [1, 2 + fingerprint64(b"7") % 3]
    with pytest.raises(ValueError, match="oov_buckets"):
        tf.lookup.StaticVocabularyTable(initializer, num_oov_buckets=0)


def test_numbers_of_lines_may_be_counted_from_another_one(tmp_path: Path) -> None:
    path = write(tmp_path, "x\ny\n")
    initializer = tf.lookup.TextFileInitializer(path, tf.string, -2, tf.int64, -1, value_index_offset=10)
    assert words(tf.lookup.StaticHashTable(initializer, -1), ["y"]) == [11]
