"""Datasets that take functions, as programs write them, and what TensorFlow gives for them.

With TensorFlow installed, `python -m tests.datasets.pipelines` writes `tests/data/pipelines.json` anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RECORDED = Path(__file__).parent.parent / "data" / "pipelines.json"
PIPELINES: dict[str, Callable[[Any], Any]] = {}
MOST = 40


def pipeline(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PIPELINES[fn.__name__] = fn
    return fn


@pipeline
def map_of_tuples_and_dicts(tf: Any) -> Any:
    def fn(x: Any, y: Any) -> Any:
        return {"sum": x + y, "pair": (x, tf.as_string(y)), "row": tf.fill([x], y)}

    return tf.data.Dataset.from_tensor_slices(([1, 2, 3], [10, 20, 30])).map(fn)


@pipeline
def map_that_gives_a_list(tf: Any) -> Any:
    return tf.data.Dataset.range(3).map(lambda x: [x, x * 2])


@pipeline
def parallel_map_keeps_the_order(tf: Any) -> Any:
    return tf.data.Dataset.range(20).map(lambda x: tf.strings.join([tf.as_string(x), "!"]), num_parallel_calls=4)


@pipeline
def map_with_captured_values(tf: Any) -> Any:
    table, rate = tf.constant([5.0, 6.0, 7.0]), tf.constant(0.5) * 3
    return tf.data.Dataset.range(3).map(lambda i: tf.gather(table, i) * rate)


@pipeline
def map_with_conditionals_and_loops(tf: Any) -> Any:
    def fn(x: Any) -> Any:
        y = tf.cond(tf.equal(x % 2, 0), lambda: x * 10, lambda: -x)
        return y, tf.while_loop(lambda i, s: i < x, lambda i, s: (i + 1, s + i), [np.int64(0), np.int64(0)])[1]

    return tf.data.Dataset.range(6).map(fn)


@pipeline
def map_with_arrays_in_loops(tf: Any) -> Any:
    return tf.data.Dataset.range(4).map(lambda n: tf.map_fn(lambda x: x * x, tf.stack([n, n + 1])))


@pipeline
def map_of_sparse_tensors(tf: Any) -> Any:
    def fn(x: Any) -> Any:
        return tf.SparseTensor([[0, 0], [1, 2]], tf.stack([x, x + 1]), [2, 3])

    dense = tf.sparse_tensor_to_dense if hasattr(tf, "sparse_tensor_to_dense") else tf.sparse.to_dense
    return tf.data.Dataset.range(3).map(fn).map(lambda s: dense(s) * 2)


@pipeline
def map_before_and_after_batches(tf: Any) -> Any:
    dataset = tf.data.Dataset.from_tensor_slices(np.arange(24, dtype=np.uint8).reshape(6, 2, 2))
    dataset = dataset.map(lambda x: (tf.cast(x, tf.float32) / 255.0 * 2.0 - 1.0, tf.one_hot(x[0, 0] % 3, 3)))
    return dataset.batch(4).map(lambda x, y: (tf.reshape(x, [-1, 4]), tf.reduce_sum(y, 0)))


@pipeline
def nested_maps(tf: Any) -> Any:
    def outer(x: Any) -> Any:
        return tf.data.Dataset.range(3).map(lambda y: x * 100 + y).batch(2)

    return tf.data.Dataset.range(3).flat_map(outer)


@pipeline
def flat_map_of_datasets_of_different_lengths(tf: Any) -> Any:
    return tf.data.Dataset.range(5).flat_map(lambda x: tf.data.Dataset.from_tensors(x).repeat(x))


@pipeline
def interleave_in_blocks(tf: Any) -> Any:
    lengths = [3, 0, 5, 1, 4, 2]
    dataset = tf.data.Dataset.from_tensor_slices(np.array(lengths, np.int64)).map(lambda n: n)
    return dataset.interleave(lambda n: tf.data.Dataset.range(n * 10, n * 10 + n), cycle_length=3, block_length=2)


@pipeline
def interleave_one_by_one(tf: Any) -> Any:
    return tf.data.Dataset.range(1, 6).interleave(
        lambda n: tf.data.Dataset.from_tensors(n).repeat(n), cycle_length=2, block_length=1
    )


@pipeline
def interleave_wider_than_the_input(tf: Any) -> Any:
    return tf.data.Dataset.range(3).interleave(
        lambda n: tf.data.Dataset.range(n * 10, n * 10 + 4), cycle_length=5, block_length=3
    )


@pipeline
def parallel_interleave_in_order(tf: Any) -> Any:
    make = tf.data.experimental.parallel_interleave(
        lambda n: tf.data.Dataset.range(n * 10, n * 10 + n), cycle_length=3, block_length=2
    )
    return tf.data.Dataset.range(7).apply(make)


@pipeline
def interleave_with_parallel_calls(tf: Any) -> Any:
    return tf.data.Dataset.range(7).interleave(
        lambda n: tf.data.Dataset.range(n * 10, n * 10 + n), cycle_length=3, block_length=2, num_parallel_calls=2
    )


@pipeline
def filter_by_a_predicate(tf: Any) -> Any:
    return tf.data.Dataset.range(12).map(lambda x: (x, x * x)).filter(lambda x, y: tf.equal(y % 3, 1)).batch(3)


@pipeline
def take_while_it_is_small(tf: Any) -> Any:
    return tf.data.Dataset.range(12).apply(tf.data.experimental.take_while(lambda x: x * x < 30))


@pipeline
def scan_with_a_state(tf: Any) -> Any:
    return tf.data.Dataset.range(6).apply(
        tf.data.experimental.scan((np.int64(0), np.int64(1)), lambda s, x: ((s[1], s[0] + s[1]), s[0] + x * 100))
    )


@pipeline
def group_by_window_of_a_size(tf: Any) -> Any:
    return tf.data.Dataset.range(14).apply(
        tf.data.experimental.group_by_window(lambda x: x % 3, lambda key, window: window.batch(2), window_size=3)
    )


@pipeline
def group_by_window_of_sizes_by_key(tf: Any) -> Any:
    return tf.data.Dataset.range(14).apply(
        tf.data.experimental.group_by_window(
            lambda x: x % 3,
            lambda key, window: window.batch(9).map(lambda w: (key, w)),
            window_size_func=lambda k: k + 1,
        )
    )


@pipeline
def group_by_reducer_sums(tf: Any) -> Any:
    reducer = tf.data.experimental.Reducer(
        lambda key: (key, np.int64(0)), lambda state, x: (state[0], state[1] + x), lambda key, total: (key, total)
    )
    return tf.data.Dataset.range(10).apply(tf.data.experimental.group_by_reducer(lambda x: (x * 7) % 4, reducer))


def _sentences(tf: Any) -> Any:
    lengths = np.array([1, 7, 3, 2, 9, 4, 5, 2, 1, 6, 3], np.int64)
    return tf.data.Dataset.from_tensor_slices(lengths).map(lambda n: tf.fill([n], n))


@pipeline
def buckets_by_length(tf: Any) -> Any:
    return _sentences(tf).apply(
        tf.data.experimental.bucket_by_sequence_length(
            lambda x: tf.shape(x)[0], [3, 6], [3, 2, 1], padded_shapes=tf.TensorShape([None])
        )
    )


@pipeline
def buckets_filled_up_to_their_boundary(tf: Any) -> Any:
    return _sentences(tf).apply(
        tf.data.experimental.bucket_by_sequence_length(
            lambda x: tf.shape(x)[0], [3, 6, 12], [3, 2, 1, 1], padded_shapes=[None], pad_to_bucket_boundary=True,
            padding_values=np.int64(-1),
        )
    )  # fmt: skip


@pipeline
def map_and_batch(tf: Any) -> Any:
    fn = lambda x: (x * x, tf.as_string(x))  # noqa: E731
    return tf.data.Dataset.range(10).apply(tf.data.experimental.map_and_batch(fn, 4))


@pipeline
def map_and_batch_without_the_rest(tf: Any) -> Any:
    return tf.data.Dataset.range(10).apply(
        tf.data.experimental.map_and_batch(lambda x: x * x, 4, drop_remainder=True, num_parallel_calls=3)
    )


@pipeline
def a_generator_of_tuples(tf: Any) -> Any:
    def generate() -> Any:
        for i in range(4):
            yield i, ["a"] * i, np.ones((i, 2)) * i

    return tf.data.Dataset.from_generator(
        generate, (tf.int64, tf.string, tf.float32), (tf.TensorShape([]), tf.TensorShape([None]), [None, 2])
    )


@pipeline
def a_generator_of_dicts_with_arguments(tf: Any) -> Any:
    def generate(start: Any, names: Any) -> Any:
        for i, name in enumerate(names):
            yield {"name": name, "number": start + i}

    return tf.data.Dataset.from_generator(
        generate, {"name": tf.string, "number": tf.int32}, args=(np.int32(5), ["x", "y"])
    ).repeat(2)


@pipeline
def python_functions_in_maps(tf: Any) -> Any:
    def python(x: Any) -> Any:
        return np.float32(x) / 2, b"%d" % x

    return tf.data.Dataset.range(4).map(lambda x: tuple(tf.py_func(python, [x], [tf.float32, tf.string])))


@pipeline
def errors_are_ignored(tf: Any) -> Any:
    def fn(x: Any) -> Any:
        return tf.check_numerics(1.0 / tf.cast(x - 3, tf.float32), "divided by zero")

    return tf.data.Dataset.range(6).map(fn).apply(tf.data.experimental.ignore_errors())


@pipeline
def lookups_in_strings(tf: Any) -> Any:
    lines = tf.data.Dataset.from_tensor_slices(["1,2.5,a", "3,4.5,b"])
    return lines.map(lambda line: tf.decode_csv(line, [[0], [0.0], [""]]))


@pipeline
def text_split_into_words(tf: Any) -> Any:
    lines = tf.data.Dataset.from_tensor_slices(["the quick fox", "", "jumps"])
    return lines.map(lambda line: tf.string_split([line]).values)


@pipeline
def zipped_and_shuffled_whole(tf: Any) -> Any:
    left = tf.data.Dataset.range(4).map(lambda x: x * 2)
    return tf.data.Dataset.zip((left, tf.data.Dataset.range(9))).map(lambda a, b: a - b).repeat(2)


def plain(value: Any) -> Any:
    """A fetched element as JSON holds it: tuples and arrays as lists, bytes as text."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    return value.decode() if isinstance(value, bytes) else value


def run(tf: Any, make: Callable[[Any], Any]) -> dict[str, Any]:
    """The elements of a pipeline, with what is said of them before."""
    with tf.Graph().as_default():
        dataset = make(tf)
        iterator = dataset.make_initializable_iterator()
        take, found = iterator.get_next(), []
        with tf.Session() as session:
            session.run(iterator.initializer)
            while len(found) < MOST:
                try:
                    found.append(plain(session.run(take)))
                except tf.errors.OutOfRangeError:
                    break
        types, shapes = iterator.output_types, iterator.output_shapes
        return {"elements": found, "types": _words(types), "shapes": _words(shapes)}


def _words(nest: Any) -> Any:
    if isinstance(nest, dict):
        return {key: _words(item) for key, item in nest.items()}
    if isinstance(nest, tuple):
        return [_words(item) for item in nest]
    return getattr(nest, "name", None) or (nest.as_list() if nest.ndims is not None else None)


if __name__ == "__main__":
    import tensorflow.compat.v1 as tensorflow  # type: ignore[import-not-found]

    tensorflow.disable_v2_behavior()
    found = {name: run(tensorflow, make) for name, make in PIPELINES.items()}
    RECORDED.write_text("".join(["{\n", ",\n".join(f'"{k}": {json.dumps(v)}' for k, v in found.items()), "\n}\n"]))
