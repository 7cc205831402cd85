"""Datasets that take functions: errors, blocks of elements, generators, threads and saved state."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.ops.datasets import calls
from tests.datasets.tools import elements

Dataset = tf.data.Dataset


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def outcomes(dataset: Any, limit: int = 100_000) -> tuple[list[Any], int]:
    """The elements, and how many errors came between them."""
    iterator = dataset.make_initializable_iterator()
    take = iterator.get_next()
    found: list[Any] = []
    errors = 0
    with tf.Session() as session:
        session.run(iterator.initializer)
        for _ in range(limit):
            try:
                found.append(session.run(take))
            except tf.errors.OutOfRangeError:
                return found, errors
            except tf.errors.InvalidArgumentError:
                errors += 1
    raise AssertionError("it does not end")


def failing_at(bad: set[int]) -> Callable[[Any], Any]:
    """A function of ints that gives them back, but for these."""

    def fn(x: Any) -> Any:
        wrong = tf.reduce_any(tf.equal(x, tf.constant([-1, *bad], tf.int64)))
        return tf.cast(tf.check_numerics(tf.cond(wrong, lambda: np.nan, lambda: 0.0), "injected"), tf.int64) + x

    return fn


# --- functions of blocks --------------------------------------------------------------------------------

LIGHT: dict[str, Callable[..., Any]] = {
    "arithmetic": lambda x, i: (x * 2.0 + 1.0) / tf.cast(i + 1, tf.float32) - x[0],
    "pixels": lambda x, i: (tf.cast(tf.cast(x, tf.uint8), tf.float32) / 255.0, tf.one_hot(i % 3, 3, axis=0)),
    "shapes": lambda x, i: (
        tf.reshape(x, [2, -1]),
        tf.expand_dims(tf.squeeze(tf.expand_dims(x, 0)), -1),
        tf.transpose(tf.reshape(x, [3, 2])),
        tf.shape(x),
        tf.tile(x, [2]),
    ),
    "slices": lambda x, i: (x[1:4], x[::-1], x[2], x[..., tf.newaxis, 3:], tf.slice(x, [1], [3])),
    "joins": lambda x, i: (tf.stack([x[0], x[1], 5.0]), tf.concat([x, [1.0, 2.0]], 0), tf.split(x, 3)[1]),
    "choices": lambda x, i: (tf.where(x > 0.5, x, -x), tf.reduce_max(x), tf.argmax(x), tf.reduce_any(x > 0.9)),
    "scalars with vectors": lambda x, i: (tf.cast(i, tf.float32) * x, tf.maximum(x, tf.cast(i, tf.float32) / 50)),
    "text": lambda x, i: (tf.as_string(i), tf.string_to_number(tf.as_string(x))),
    "tables": lambda x, i: tf.gather(tf.constant(np.arange(20.0).reshape(10, 2)), i % 10),
    "what is the same for all": lambda x, i: (x, 5, "text", tf.zeros([2])),
    "padding": lambda x, i: tf.pad(tf.reshape(x, [2, 3]), [[1, 0], [0, 2]]),
}


@pytest.mark.parametrize("name", LIGHT)
def test_a_function_of_blocks_gives_what_calls_one_by_one_give(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.RandomState(0).rand(50, 6).astype(np.float32)
    dataset = Dataset.from_tensor_slices((rows, np.arange(50))).map(LIGHT[name])
    together = elements(dataset.batch(10))
    many = calls.Call.of_block
    used: list[bool] = []

    def watched(self: Any, block: Any) -> Any:
        found = many(self, block)
        used.append(found is not None)
        return found

    monkeypatch.setattr(calls.Call, "of_block", watched)
    assert elements(dataset.batch(10)) == together
    assert used and all(used)
    monkeypatch.setattr(calls.Call, "of_block", lambda self, block: None)
    assert elements(dataset.batch(10)) == together


def test_an_error_in_a_block_is_the_error_of_one_element() -> None:
    weights = [1.0, 2.0, 0.0, 4.0, 5.0, 0.0, 7.0, 8.0]
    dataset = Dataset.from_tensor_slices(weights).map(lambda x: tf.check_numerics(1.0 / x, "bad"))
    iterator = dataset.batch(3).make_initializable_iterator()
    take = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)bad.*test_functions.py"):
            session.run(take)
    found, errors = outcomes(dataset)
    assert (found, errors) == ([np.float32(1.0 / x) for x in weights if x], 2)


def test_a_division_by_zero_loses_no_other_element() -> None:
    dataset = Dataset.range(100).map(lambda x: 1000 // (x % 10 - 5))
    found, errors = outcomes(dataset)
    assert found == [1000 // (x % 10 - 5) for x in range(100) if x % 10 != 5]
    assert errors == 10
    ignoring = Dataset.range(100).map(lambda x: 1000 // (x % 10 - 5)).apply(tf.contrib.data.ignore_errors())
    assert np.concatenate(outcomes(ignoring.batch(7))[0]).tolist() == found


# --- errors under parallelism ---------------------------------------------------------------------------


def check_each_exactly_once(seed: int) -> None:
    """A random pipeline over numbers of which some fail: the others come once each, in order where it has one."""
    rng = random.Random(seed)
    size = rng.randint(1, 60)
    bad = set(rng.sample(range(size), rng.randint(0, size // 3)))
    delays = {i: rng.random() * 0.002 for i in range(size)} if rng.random() < 0.4 else {}

    def wait(x: Any) -> Any:
        time.sleep(delays.get(int(x), 0))
        return x

    def mapped(x: Any) -> Any:
        if delays:
            x = tf.py_func(wait, [x], tf.int64)
            x.set_shape([])
        return failing_at(bad)(x)

    parallel = rng.choice([None, 1, 2, 4])
    kind = rng.choice(["map", "interleave", "parallel_interleave", "flat_map"])
    ordered = kind in ("map", "flat_map")
    with tf.Graph().as_default():
        if kind == "map":
            dataset = Dataset.range(size).map(mapped, num_parallel_calls=parallel)
        else:
            step = rng.randint(1, 7)
            cuts = Dataset.range(0, size, step)

            def part(begin: Any) -> Any:
                end = tf.minimum(begin + step, size)
                return Dataset.range(begin, end).map(mapped, num_parallel_calls=parallel)

            cycle, block = rng.randint(1, 4), rng.randint(1, 3)
            if kind == "flat_map":
                dataset = cuts.flat_map(part)
            elif kind == "interleave":
                dataset = cuts.interleave(part, cycle, block, num_parallel_calls=rng.choice([None, 2]))
            else:
                make = tf.contrib.data.parallel_interleave(part, cycle, block, sloppy=rng.random() < 0.5)
                dataset = cuts.apply(make)
        if rng.random() < 0.3:
            dataset = dataset.prefetch(rng.randint(1, 5))
        found, errors = outcomes(dataset)
    wanted = [i for i in range(size) if i not in bad]
    assert (found if ordered else sorted(found)) == wanted
    assert errors == len(bad)


@pytest.mark.parametrize("seed", range(15))
def test_each_element_comes_exactly_once_whatever_fails_beside_it(seed: int) -> None:
    check_each_exactly_once(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(15, 200))
def test_each_element_comes_exactly_once_in_many_random_pipelines(seed: int) -> None:
    check_each_exactly_once(seed)


def test_calls_of_a_parallel_map_run_at_once() -> None:
    meeting = threading.Barrier(3)

    def meet(x: Any) -> Any:
        if x >= 9:
            meeting.wait(timeout=30)
        else:
            time.sleep(0.005)
        return x

    dataset = Dataset.range(30).map(lambda x: tf.py_func(meet, [x], tf.int64), num_parallel_calls=3)
    assert elements(dataset) == list(range(30))


# --- generators -----------------------------------------------------------------------------------------


def test_a_generator_is_closed_with_its_iterator_and_when_it_is_begun_anew() -> None:
    closed = []

    def generate() -> Iterator[int]:
        try:
            yield from range(100)
        finally:
            closed.append(True)

    iterator = Dataset.from_generator(generate, tf.int64).make_initializable_iterator()
    take = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert [session.run(take) for _ in range(3)] == [0, 1, 2]
        session.run(iterator.initializer)
        assert session.run(take) == 0
        assert closed == [True]
    assert closed == [True, True]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (("x", [1.0, 2.0]), "invalid literal for"),
        ((1, 2, 3), "did not match the expected structure"),
        (1, "did not match the expected structure"),
        (("x", [1.0, 2.0]), "could not be converted to the expected type. The expected type was int32"),
        ((1, [1.0, 2.0, 3.0]), "of shape .3,. where an element of shape .2,. was expected"),
    ],
)
def test_what_a_generator_yields_has_to_fit(value: Any, message: str) -> None:
    def generate() -> Iterator[Any]:
        yield 1, [1.0, 2.0]
        yield value

    dataset = Dataset.from_generator(generate, (tf.int32, tf.float32), ([], [2]))
    iterator = dataset.make_initializable_iterator()
    take = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert session.run(take)[0] == 1
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"(?s){message}.*test_functions.py"):
            session.run(take)


def test_an_error_in_a_generator_ends_it() -> None:
    def generate() -> Iterator[int]:
        yield 1
        raise KeyError("a file is gone")

    iterator = Dataset.from_generator(generate, tf.int64).make_initializable_iterator()
    take = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert session.run(take) == 1
        with pytest.raises(tf.errors.UnknownError, match="KeyError: 'a file is gone'"):
            session.run(take)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(take)


# --- random numbers -------------------------------------------------------------------------------------


def _drawn(_: Any) -> tf.Tensor:
    return tf.random_uniform((), seed=11)


@pytest.mark.parametrize(
    "dataset",
    [
        lambda: Dataset.range(3).map(_drawn).repeat(2),
        lambda: Dataset.range(2).flat_map(lambda _: Dataset.range(3).map(_drawn)),
        lambda: Dataset.range(6).map(lambda x: tf.cond(x > 2, lambda: _drawn(x), lambda: -_drawn(x))),
        lambda: Dataset.range(6).map(lambda x: _drawn(x) + tf.cast(x, tf.float32)),
    ],
)
def test_seeds_give_the_same_numbers_whenever_an_iterator_is_initialised(dataset: Any) -> None:
    """And others for each element, also where a function or dataset inside is used again: as recorded of TensorFlow."""
    one, other = (dataset().make_initializable_iterator() for _ in range(2))
    take = one.get_next()

    def epoch(session: tf.Session) -> list[float]:
        session.run(one.initializer)
        return [session.run(take) for _ in range(6)]

    with tf.Session() as session:
        first = epoch(session)
        session.run(other.initializer)
        assert epoch(session) == first
        session.run(one.initializer)
        assert [session.run(take) for _ in range(3)] == first[:3]
        session.run(other.get_next())
        assert [session.run(take) for _ in range(3)] == first[3:]
    assert len({abs(number) for number in first}) >= 3


def test_keys_and_window_sizes_may_be_plain_numbers() -> None:
    window = tf.contrib.data.group_by_window
    whole = [[0, 1, 2], [3, 4]]
    batches = Dataset.range(5).apply(window(lambda n: 0, lambda key, inside: inside.batch(3), window_size=3))
    assert elements(batches) == whole
    sized = window(lambda n: n * 0, lambda key, inside: inside.batch(3), window_size_func=lambda key: np.int32(3))
    assert elements(Dataset.range(5).apply(sized)) == whole


# --- what is refused ------------------------------------------------------------------------------------


def test_functions_that_give_something_else_are_refused() -> None:
    numbers = Dataset.range(3)
    with pytest.raises(ValueError, match="must return a scalar boolean"):
        numbers.filter(lambda x: x)
    with pytest.raises(TypeError, match="must return a `Dataset` object"):
        numbers.flat_map(lambda x: x)
    with pytest.raises(TypeError, match="not callable"):
        numbers.map(3)
    with pytest.raises(TypeError, match="types for the new state must match"):
        numbers.reduce(0.0, lambda state, x: x)
    with pytest.raises(ValueError, match="key_func"):
        numbers.apply(tf.contrib.data.group_by_window(lambda x: tf.fill([2], x), lambda k, w: w, 2))
    with pytest.raises(TypeError, match="`generator` must be callable"):
        Dataset.from_generator([1, 2], tf.int32)


def test_reduce_widens_the_shape_of_its_state() -> None:
    total = Dataset.range(1, 4).reduce(np.zeros(1, np.int64), lambda state, x: tf.concat([state, [x]], 0))
    assert total.shape.as_list() == [None]
    with tf.Session() as session:
        assert session.run(total).tolist() == [0, 1, 2, 3]


# --- saved state ----------------------------------------------------------------------------------------

SAVED: dict[str, Callable[[], Any]] = {
    "map": lambda: Dataset.range(20).map(lambda x: x * 3),
    "parallel map": lambda: Dataset.range(20).map(
        lambda x: tf.py_func(lambda v: (time.sleep(0.001), v)[1], [x], tf.int64), num_parallel_calls=3
    ),
    "filter": lambda: Dataset.range(40).filter(lambda x: tf.equal(x % 2, 0)).batch(2),
    "flat_map": lambda: Dataset.range(7).flat_map(lambda x: Dataset.range(x)),
    "interleave": lambda: Dataset.range(7).interleave(lambda x: Dataset.range(x), 3, 2),
    "parallel interleave": lambda: Dataset.range(7).interleave(lambda x: Dataset.range(x), 3, 2, 2),
    "scan": lambda: Dataset.range(20).apply(tf.contrib.data.scan(np.int64(0), lambda s, x: (s + x, s))),
    "group_by_window": lambda: Dataset.range(20).apply(
        tf.contrib.data.group_by_window(lambda x: x % 3, lambda k, w: w.batch(2), 4)
    ),
}


@pytest.mark.parametrize("name", SAVED)
def test_an_iterator_goes_on_where_it_was_saved(name: str, tmp_path: Any) -> None:
    whole = elements(SAVED[name]())
    iterator = SAVED[name]().make_initializable_iterator()
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, tf.contrib.data.make_saveable_from_iterator(iterator))
    take, saver = iterator.get_next(), tf.train.Saver()
    with tf.Session() as session:
        session.run(iterator.initializer)
        for _ in range(5):
            session.run(take)
        path = saver.save(session, str(tmp_path / "state"))
    with tf.Session() as session:
        session.run(iterator.initializer)
        saver.restore(session, path)
        rest = []
        while True:
            try:
                rest.append(session.run(take))
            except tf.errors.OutOfRangeError:
                break
    assert [np.asarray(r).tolist() for r in rest] == whole[5:]


# --- graphs from elsewhere ------------------------------------------------------------------------------


def test_a_graph_whose_functions_do_not_fit_its_datasets_is_refused_in_the_step() -> None:
    numbers = Dataset.range(3)
    kinds = [numbers.map(lambda x: x * 2), numbers.filter(lambda x: x > 1), numbers.flat_map(Dataset.range)]
    for dataset in kinds:
        dataset.make_initializable_iterator()
    Dataset.range(2).map(lambda x: (tf.cast(x, tf.float32), x)).map(lambda x, y: x).make_initializable_iterator()
    message = tf.get_default_graph().as_graph_def()
    names = [function.signature.name for function in message.library.function]
    refused = 0
    for node in message.node:
        for key in ("f", "predicate"):
            for name in names if key in node.attr else ():
                spoiled = tf.GraphDef()
                spoiled.CopyFrom(message)
                next(n for n in spoiled.node if n.name == node.name).attr[key].func.name = name
                with tf.Graph().as_default() as graph, tf.Session() as session:
                    tf.import_graph_def(spoiled, name="")
                    for op in graph.get_operations():
                        if op.type == "MakeIterator":
                            try:
                                session.run(op)
                            except tf.errors.InvalidArgumentError as error:
                                refused += 1
                                assert "Function" in str(error)
    assert refused >= 15


# --- resampling -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("initial", [None, [0.8, 0.15, 0.05]])
def test_rejection_resampling_gives_classes_with_the_wanted_probabilities(initial: list[float] | None) -> None:
    classes = np.random.RandomState(0).choice(3, 8000, p=[0.8, 0.15, 0.05]).astype(np.int32)
    dataset = Dataset.from_tensor_slices((classes, np.arange(8000)))
    wanted = [0.5, 0.25, 0.25]
    resample = tf.contrib.data.rejection_resample(lambda c, i: c, wanted, initial, seed=1)
    found = elements(dataset.apply(resample).skip(200).batch(10_000))
    (kept, (same, places)) = found[0]
    assert kept == same == classes[places].tolist()
    assert len(kept) > 1000
    np.testing.assert_allclose(np.bincount(kept) / len(kept), wanted, atol=0.05)
