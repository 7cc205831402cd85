"""Random steps that are all regions and clusters: rows are moved, joined and reduced, in any shapes and dtypes.

What compilers do wrong they do where loops of different strides read one block of memory, so values here are small
and many, and each is read by several others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import penstock as tf

DTYPES = ("float32", "float32", "float64", "int32", "int64")
SIZES = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 9, 10, 16, 17, 20, 33])
MOST = 4000
"""Elements of one value."""


@dataclass
class Step:
    """Placeholders with what they are fed, what to fetch, and what else to run."""

    feeds: dict[Any, np.ndarray] = field(default_factory=dict)
    values: list[Any] = field(default_factory=list)
    updates: list[Any] = field(default_factory=list)


Draw = Callable[[Any], Any]


def _feed(draw: Draw, step: Step) -> Any:
    """A fed value, whose memory begins anywhere."""
    dtype = draw(st.sampled_from(DTYPES))
    shape = tuple(draw(st.lists(SIZES, min_size=1, max_size=3)))
    while np.prod(shape) > MOST:
        shape = shape[1:]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    count, skipped = int(np.prod(shape)), draw(st.integers(0, 3))
    numbers = rng.normal(size=count + skipped) if dtype.startswith("f") else rng.integers(-9, 9, count + skipped)
    tensor = tf.placeholder(dtype, shape)
    step.feeds[tensor] = numbers.astype(dtype)[skipped:].reshape(shape)
    return tensor


def _transposed(draw: Draw, x: Any) -> Any:
    return tf.transpose(x, draw(st.permutations(range(x.shape.ndims))))


def _joined(draw: Draw, x: Any) -> Any:
    axis = draw(st.integers(0, x.shape.ndims - 1))
    return tf.concat([x, tf.reverse(x, [axis]), x][: draw(st.integers(2, 3))], axis)


def _cut(draw: Draw, x: Any) -> Any:
    sizes = x.shape.as_list()
    begin = [draw(st.integers(0, size - 1)) for size in sizes]
    end = [draw(st.integers(b + 1, size)) for b, size in zip(begin, sizes, strict=True)]
    return tf.strided_slice(x, begin, end, [draw(st.integers(1, 3)) for _ in sizes])


def _parts(draw: Draw, x: Any) -> Any:
    axis = draw(st.integers(0, x.shape.ndims - 1))
    return tf.stack(tf.unstack(x, axis=axis)[:9], axis=draw(st.integers(0, x.shape.ndims - 1)))


def _padded(draw: Draw, x: Any) -> Any:
    return tf.pad(x, [[draw(st.integers(0, 2)), draw(st.integers(0, 2))] for _ in x.shape.as_list()])


def _tiled(draw: Draw, x: Any) -> Any:
    return tf.tile(x, [draw(st.integers(1, 2)) for _ in x.shape.as_list()])


def _taken(draw: Draw, x: Any) -> Any:
    axis = draw(st.integers(0, x.shape.ndims - 1))
    size = x.shape.as_list()[axis]
    return tf.gather(x, draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=9)), axis=axis)


def _reduced(draw: Draw, x: Any) -> Any:
    reduce = draw(st.sampled_from([tf.reduce_sum, tf.reduce_max, tf.reduce_min, tf.reduce_mean]))
    if not x.dtype.is_floating:
        reduce = tf.reduce_max if reduce is tf.reduce_mean else reduce
    return reduce(x, axis=draw(st.integers(0, x.shape.ndims - 1)), keepdims=True)


def _scaled(draw: Draw, x: Any) -> Any:
    """Back to small numbers, so that neither rounding nor overflow decides."""
    if not x.dtype.is_floating:
        return tf.clip_by_value(x, -99, 99)
    return draw(st.sampled_from([tf.tanh, tf.sigmoid, tf.nn.relu6]))(x)


def _combined(draw: Draw, x: Any) -> Any:
    other = draw(
        st.sampled_from([lambda: x + 1, lambda: tf.maximum(x, 2), lambda: x * x, lambda: x - tf.reverse(x, [0])])
    )
    return _scaled(draw, other())


def _converted(draw: Draw, x: Any) -> Any:
    dtype = draw(st.sampled_from(DTYPES))
    if x.dtype.is_integer:
        return tf.cast(tf.where(tf.greater(x, 1), tf.zeros_like(x), x), dtype)
    return tf.cast(x > 0.01, dtype)  # not 0: sums that cancel are that but for rounding


def _one_hot(draw: Draw, x: Any) -> Any:
    if not x.dtype.is_integer or x.shape.ndims > 2:
        return x
    return tf.one_hot(x, draw(st.integers(1, 5)), dtype=draw(st.sampled_from(DTYPES)))


def _multiplied(draw: Draw, x: Any) -> Any:
    if not x.dtype.is_floating or x.shape.ndims != 2:
        return x
    return tf.tanh(tf.matmul(x, x, transpose_a=True))


def _looped(draw: Draw, x: Any) -> Any:
    """A loop over rows, which it takes from one array and puts into another."""
    rows = x.shape.as_list()[0]
    if rows > 12:
        return x
    taken = tf.TensorArray(x.dtype, rows).unstack(x)
    state = tf.zeros_like(x[0])

    def body(i: Any, before: Any, made: Any) -> Any:
        after = _scaled(lambda _: tf.tanh, before + taken.read(i))
        return i + 1, after, made.write(i, after)

    given = (tf.constant(0), state, tf.TensorArray(x.dtype, rows))
    made = tf.while_loop(lambda i, *_: i < rows, body, given)[2].stack()
    made.set_shape(x.shape)
    return made


WAYS = (
    _transposed, _joined, _cut, _parts, _padded, _tiled, _taken, _reduced, _combined, _combined, _converted, _one_hot,
    _multiplied, _looped,
)  # fmt: skip


@st.composite
def steps(draw: Any) -> Step:
    """Built in the graph that is current."""
    step = Step()
    values = [_feed(draw, step) for _ in range(draw(st.integers(1, 3)))]
    for _ in range(draw(st.integers(4, 24))):
        x = draw(st.sampled_from(values[-5:]))
        made = draw(st.sampled_from(WAYS))(draw, x)
        if made is not x and made.shape.ndims and made.shape.num_elements() <= MOST and made.shape.ndims <= 4:
            values.append(made)
    chosen = values[-1]
    if chosen.dtype.is_floating and draw(st.booleans()):
        variable = tf.Variable(np.zeros(chosen.shape.as_list(), chosen.dtype.as_numpy_dtype))
        step.updates.append(tf.assign_add(variable, chosen).op)
        step.values.append(variable)
    step.values += [tf.identity(value) for value in values[-8:]]
    return step
