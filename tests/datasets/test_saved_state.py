"""Iterators continue where they were saved, in any pipeline, at any element."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.ops.datasets.blocks import Block
from penstock.ops.datasets.saved_state import from_bytes, to_bytes
from tests.datasets import pipelines, plain_pipelines
from tests.datasets.tools import plain

Dataset = tf.data.Dataset


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


class Saved:
    """An iterator over a dataset, with the steps that save and restore it."""

    def __init__(self, dataset: Any) -> None:
        self.iterator = dataset.make_initializable_iterator()
        self.take = self.iterator.get_next()
        handle = self.iterator._iterator_resource
        self.state = tf.serialize_tensor(tf.raw_ops.SerializeIterator(resource_handle=handle))
        self.given = tf.placeholder(tf.string, [])
        parsed = tf.parse_tensor(self.given, tf.variant)
        self.restore = tf.raw_ops.DeserializeIterator(resource_handle=handle, serialized=parsed)

    def elements(self, session: tf.Session, limit: int = 60) -> list[Any]:
        found: list[Any] = []
        while len(found) < limit:
            try:
                found.append(plain(session.run(self.take)))
            except tf.errors.OutOfRangeError:
                break
        return found


RANDOM: dict[str, Callable[[], Any]] = {
    "shuffled": lambda: Dataset.range(12).shuffle(5).repeat(3),
    "shuffled in one order": lambda: Dataset.range(8).shuffle(20, seed=3, reshuffle_each_iteration=False).repeat(2),
    "shuffled and repeated": lambda: Dataset.range(7).apply(tf.contrib.data.shuffle_and_repeat(4, 3)).batch(2),
    "shuffled, of different shapes": lambda: (
        Dataset.range(9).map(lambda n: (tf.fill([n % 3], n), tf.as_string(n))).shuffle(4).repeat(2).prefetch(2)
    ),
    "random numbers": lambda: tf.contrib.data.RandomDataset(4).batch(3).take(10),
    "sampled": lambda: tf.contrib.data.sample_from_datasets([Dataset.range(9), Dataset.range(20, 25)], [0.7, 0.3]),
    "ahead": lambda: Dataset.range(20).shuffle(3).batch(2).prefetch(4),
    "sparse": lambda: (
        Dataset.from_tensor_slices(tf.SparseTensor([[i, 0] for i in range(6)], np.arange(6.0), [6, 2]))
        .shuffle(3)
        .map(tf.sparse_tensor_to_dense)
    ),
}
PIPELINES: dict[str, Callable[[], Any]] = {
    **{name: lambda make=make: make(tf) for name, make in pipelines.PIPELINES.items()},
    **{name: lambda make=make: make(tf) for name, make in plain_pipelines.PIPELINES.items()},
    **RANDOM,
}
NOT_SAVED = {"a_generator_of_tuples", "a_generator_of_dicts_with_arguments"}


@pytest.mark.parametrize("name", PIPELINES)
def test_what_follows_a_restored_state_is_what_followed_it_before(name: str) -> None:
    made = Saved(PIPELINES[name]())
    with tf.Session() as session:
        session.run(made.iterator.initializer)
        count = len(made.elements(session))
        for at in sorted({0, 1, count // 2, max(count - 1, 0), count}):
            session.run(made.iterator.initializer)
            made.elements(session, at)
            if name in NOT_SAVED:
                with pytest.raises(tf.errors.UnimplementedError, match="cannot be saved"):
                    session.run(made.state)
                continue
            state = session.run(made.state)
            rest = made.elements(session)
            session.run(made.restore, {made.given: state})
            assert made.elements(session) == rest


def test_a_state_is_that_of_one_moment_while_a_thread_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow_to_bytes(state: Any) -> bytes:
        time.sleep(0.05)  # meanwhile the thread takes elements out of the shuffle's buffer, unless it is held up
        return to_bytes(state)

    monkeypatch.setattr("penstock.ops.datasets.iterator_state.to_bytes", slow_to_bytes)
    made = Saved(Dataset.range(40).shuffle(3).batch(2).prefetch(2))
    with tf.Session() as session:
        session.run(made.iterator.initializer)
        made.elements(session, 3)
        state = session.run(made.state)
        rest = made.elements(session)
        session.run(made.restore, {made.given: state})
        assert made.elements(session) == rest


def test_a_saver_keeps_an_iterator(tmp_path: Path) -> None:
    dataset = Dataset.range(20).shuffle(6).repeat().batch(3).prefetch(2)
    iterator = dataset.make_initializable_iterator()
    take = iterator.get_next()
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, tf.contrib.data.make_saveable_from_iterator(iterator))
    tf.Variable(1.0, name="v")
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run([iterator.initializer, tf.global_variables_initializer()])
        for _ in range(5):
            session.run(take)
        path = saver.save(session, str(tmp_path / "model"))
        expected = [session.run(take).tolist() for _ in range(9)]
    with tf.Session() as session:
        saver.restore(session, path)  # nothing has been initialised here
        assert [session.run(take).tolist() for _ in range(9)] == expected


def test_damaged_and_foreign_states_are_refused() -> None:
    made, other = Saved(Dataset.range(10).shuffle(4).batch(2)), Saved(Dataset.range(10).map(lambda x: x).repeat(2))
    with tf.Session() as session:
        session.run([made.iterator.initializer, other.iterator.initializer])
        session.run(made.take)
        state = session.run(made.state)
        rest = made.elements(session)
        session.run(made.iterator.initializer)
        for at in range(0, len(state), max(1, len(state) // 60)):
            wrong = state[:at] + bytes([state[at] ^ 0x20]) + state[at + 1 :]
            try:
                session.run(made.restore, {made.given: wrong})
            except (tf.errors.DataLossError, tf.errors.InvalidArgumentError):
                continue
            assert made.elements(session) == rest  # a byte that says nothing about elements
        with pytest.raises(tf.errors.InvalidArgumentError, match="another dataset"):
            session.run(other.restore, {other.given: state})


def test_states_say_what_was_in_them() -> None:
    text = np.array([b"x", b""], object)
    state = {
        "a": [None, True, 1, 2.5, "ä", b"\0\xff", 2**80, [b"x"]],
        "b": {"t": tf.float32.as_numpy_dtype(2), "o": text, "n": np.arange(6).reshape(2, 3)},
    }
    found = from_bytes(to_bytes(state))
    assert found["a"] == state["a"]
    assert found["b"]["t"] == 2.0
    assert found["b"]["o"].tolist() == text.tolist()
    assert found["b"]["n"].tolist() == [[0, 1, 2], [3, 4, 5]]
    block = from_bytes(to_bytes(Block(2, [text, [text, text[:1]]])))
    assert (block.size, block.columns[0].tolist(), len(block.columns[1])) == (2, text.tolist(), 2)
    with pytest.raises(tf.errors.UnimplementedError, match="cannot be saved"):
        to_bytes({"a": object()})
    for text in (b"", b"PSTATE1\n", to_bytes([1])[:-1], to_bytes([1]) + b"x"):
        with pytest.raises(tf.errors.DataLossError):
            from_bytes(text)
