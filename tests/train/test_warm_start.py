"""`warm_start` and `init_from_checkpoint`: variables begin with values of another model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

EMBEDDING = np.arange(8.0, dtype=np.float32).reshape(4, 2)


@pytest.fixture
def old(tmp_path: Path) -> str:
    """A checkpoint of an embedding of the entries a, b, c, d, and of other variables."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("model/embedding", initializer=EMBEDDING)
        tf.get_variable("model/bias", initializer=[1.0, 2.0])
        tf.get_variable("model/count", initializer=7, trainable=False)
        session.run(tf.global_variables_initializer())
        (tmp_path / "old.txt").write_text("a\nb\nc\nd\n")
        return str(tf.train.Saver().save(session, str(tmp_path / "old")))


def initialised(variable: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(variable)


@pytest.mark.parametrize("use_resource", [False, True])
def test_trainable_variables_begin_with_those_of_the_same_name(old: str, use_resource: bool) -> None:
    with tf.variable_scope("model", use_resource=use_resource):
        bias = tf.get_variable("bias", [2])
        count = tf.get_variable("count", initializer=1, trainable=False)
    tf.train.warm_start(old)
    values = initialised([bias, count])
    assert values[0].tolist() == [1.0, 2.0]
    assert values[1] == 1


def test_patterns_and_lists_choose_variables(old: str, tmp_path: Path) -> None:
    bias = tf.get_variable("model/bias", [2], initializer=tf.zeros_initializer())
    embedding = tf.get_variable("model/embedding", [4, 2], initializer=tf.zeros_initializer())
    count = tf.get_variable("model/count", initializer=1, trainable=False)
    tf.train.warm_start(str(tmp_path), ["model/c.*"])
    assert initialised([bias, count])[0].tolist() == [0.0, 0.0]
    assert initialised(count) == 7
    tf.train.warm_start(old, ".*bias")
    assert initialised(bias).tolist() == [1.0, 2.0]
    assert initialised(embedding).tolist() == np.zeros((4, 2)).tolist()
    tf.train.warm_start(old, [embedding])
    assert initialised(embedding).tolist() == EMBEDDING.tolist()


def test_variables_may_have_other_names_in_the_checkpoint(old: str) -> None:
    bias = tf.get_variable("mine", [2])
    tf.train.warm_start(old, "mine", var_name_to_prev_var_name={"mine": "model/bias"})
    assert initialised(bias).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"var_name_to_prev_var_name that were not used: \['typo'\]"):
        tf.train.warm_start(old, "mine", var_name_to_prev_var_name={"mine": "model/bias", "typo": "x"})


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_rows_follow_their_vocabulary_entries(old: str, tmp_path: Path, parts: int) -> None:
    (tmp_path / "new.txt").write_text("d\nnew\nb\na\nbeyond\n")
    partitioner = tf.fixed_size_partitioner(parts) if parts > 1 else None
    embedding = tf.get_variable("model/embedding", [6, 2], partitioner=partitioner)
    bias = tf.get_variable("model/bias", [2], initializer=tf.zeros_initializer())
    info = tf.train.VocabInfo(
        new_vocab=str(tmp_path / "new.txt"), new_vocab_size=4, num_oov_buckets=2, old_vocab=str(tmp_path / "old.txt"),
        old_vocab_size=3, backup_initializer=tf.constant_initializer(-1.0),
    )  # fmt: skip
    tf.train.warm_start(old, None, var_name_to_vocab_info={"model/embedding": info})
    found, untouched = initialised([tf.convert_to_tensor(embedding), bias])
    expected = [[-1, -1], [-1, -1], EMBEDDING[1], EMBEDDING[0], [-1, -1], [-1, -1]]
    np.testing.assert_array_equal(found, np.array(expected, np.float32))
    assert untouched.tolist() == [0.0, 0.0]


def test_columns_may_be_the_entries(old: str, tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text("x\ny\n")
    (tmp_path / "new.txt").write_text("y\nz\nx\n")
    embedding = tf.get_variable("model/embedding", [4, 3], partitioner=tf.fixed_size_partitioner(2))
    info = tf.train.VocabInfo(str(tmp_path / "new.txt"), 3, 0, str(tmp_path / "two.txt"), axis=1)
    tf.train.warm_start(old, var_name_to_vocab_info={"model/embedding": info})
    found = initialised(tf.convert_to_tensor(embedding))
    zeros = np.zeros(4, np.float32)
    np.testing.assert_array_equal(found, np.stack([EMBEDDING[:, 1], zeros, EMBEDDING[:, 0]], 1))


def test_vocabularies_that_do_not_fit_are_refused(old: str, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("a\n")
    tf.get_variable("model/embedding", [6, 2])
    vocabulary = str(tmp_path / "new.txt")
    with pytest.raises(ValueError, match="axis: 2"):
        tf.train.VocabInfo(vocabulary, 1, 0, vocabulary, axis=2)
    for info, message in (
        (tf.train.VocabInfo(vocabulary, 3, 0, vocabulary), r"has 1 entries, not new_vocab_size = 3"),
        (tf.train.VocabInfo(vocabulary, 1, 0, vocabulary), r"has the shape \[6, 2\], the vocabulary and its buckets 1"),
    ):
        with pytest.raises(ValueError, match=message):
            tf.train.warm_start(old, var_name_to_vocab_info={"model/embedding": info})
    with pytest.raises(ValueError, match="all `Variable` or all `str`"):
        tf.train.warm_start(old, 3)


# --- init_from_checkpoint -------------------------------------------------------------------------------


def test_assignment_maps_name_scopes_variables_and_lists_of_parts(old: str) -> None:
    with tf.variable_scope("new"):
        bias = tf.get_variable("bias", [2])
        embedding = tf.get_variable("embedding", [4, 2], partitioner=tf.fixed_size_partitioner(2))
    other = tf.get_variable("other", [2])
    listed = tf.get_variable("listed", [4, 2], partitioner=tf.fixed_size_partitioner(2))
    named = tf.get_variable("named", [4, 2], partitioner=tf.fixed_size_partitioner(3))
    tf.train.init_from_checkpoint(
        old,
        [("model/", "new/"), ("model/bias", other), ("model/embedding", list(listed)), ("model/embedding", "named")],
    )
    values = initialised([bias, other, *map(tf.convert_to_tensor, (embedding, listed, named))])
    for value in values[:2]:
        assert value.tolist() == [1.0, 2.0]
    for value in values[2:]:
        np.testing.assert_array_equal(value, EMBEDDING)
