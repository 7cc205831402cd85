"""The steps that are placed: each function builds one in the default graph and returns its fetches and feeds.

`scale` makes a graph smaller in the number of its parts, so that tests can use the same programs.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import penstock as tf

Step = tuple[Any, list[Any]]
Builder = Callable[[float], Step]

GRAPHS: dict[str, Builder] = {}


def graph(name: str) -> Callable[[Builder], Builder]:
    def add(builder: Builder) -> Builder:
        GRAPHS[name] = builder
        return builder

    return add


PARTS: dict[str, float] = {}
"""Where a person would put operations of the graph built last, by name: from 0, the first device, to 1."""


@contextlib.contextmanager
def _part(index: int, of: int) -> Iterator[None]:
    """What is built inside is part `index` of a number of parts, neighbours of which a person would put together."""
    graph = tf.get_default_graph()
    before = len(graph.get_operations())
    yield
    PARTS.update({op.name: index / of for op in graph.get_operations()[before:]})


def _count(full: int, scale: float, least: int = 2) -> int:
    return max(least, round(full * scale))


def _variable(*shape: int) -> Any:
    return tf.Variable(tf.zeros(list(shape)))


def _dense(x: Any, units: int, activation: Any = tf.nn.relu) -> Any:
    y = tf.nn.xw_plus_b(x, _variable(x.shape.as_list()[-1], units), _variable(units))
    return y if activation is None else activation(y)


def _train(loss: Any) -> Any:
    return tf.train.GradientDescentOptimizer(0.1).minimize(loss)


@graph("lstm")
def lstm(scale: float) -> Step:
    """Four layers, unrolled over 16 steps, trained: what a wavefront over the layers makes parallel."""
    batch, units, steps, layers = 64, 512, _count(16, scale), 4
    inputs = outputs = [tf.placeholder(tf.float32, [batch, units]) for _ in range(steps)]
    for layer in range(layers):
        with _part(layer, layers):
            cell = tf.nn.rnn_cell.BasicLSTMCell(units, name=f"layer_{layer}")
            outputs, _ = tf.nn.static_rnn(cell, outputs, dtype=tf.float32)
    return _train(tf.add_n([tf.reduce_sum(tf.square(output)) for output in outputs])), inputs


@graph("pipeline")
def pipeline(scale: float) -> Step:
    """Eight layers, eight micro-batches: gradients of all of them are added before the one update."""
    batch, units, layers, parts = 128, 1024, 8, _count(8, scale)
    weights = []
    for layer in range(layers):
        with _part(layer, layers):
            weights.append((_variable(units, units), _variable(units)))
    inputs, losses = [], []
    for _ in range(parts):
        h = tf.placeholder(tf.float32, [batch, units])
        inputs.append(h)
        for layer, (w, b) in enumerate(weights):
            with _part(layer, layers):
                h = tf.nn.relu(tf.nn.xw_plus_b(h, w, b))
        losses.append(tf.reduce_sum(tf.square(h)))
    return _train(tf.add_n(losses)), inputs


@graph("embeddings")
def embeddings(scale: float) -> Step:
    """Eight tables of embeddings, a small network each, a joint one on top."""
    batch, rows, units = 512, 20_000, 128
    ids, towers = [], []
    count = _count(8, scale)
    for i in range(count):
        with _part(i, count):
            index = tf.placeholder(tf.int32, [batch])
            ids.append(index)
            towers.append(_dense(tf.nn.embedding_lookup(_variable(rows, units), index), 512))
    top = _dense(_dense(tf.concat(towers, 1), 512), 1, None)
    return _train(tf.reduce_mean(tf.square(top))), ids


@graph("towers")
def towers(scale: float) -> Step:
    """Two towers of four layers, whose small ends are multiplied."""
    batch, units = 512, 1024
    left, right = (tf.placeholder(tf.float32, [batch, units]) for _ in range(2))
    ends = []
    for i, h in enumerate((left, right)):
        with _part(i, 2):
            for _ in range(_count(4, scale, 1)):
                h = _dense(h, units)
            ends.append(_dense(h, 64, None))
    return _train(tf.reduce_mean(tf.square(1.0 - tf.reduce_sum(ends[0] * ends[1], 1)))), [left, right]


@graph("matmul")
def matmul(scale: float) -> Step:
    """A product of matrices of 4 x 4 blocks: every block of a factor is wanted four times."""
    n, side = _count(4, scale), 1024
    a, b = ([[_variable(side, side) for _ in range(n)] for _ in range(n)] for _ in range(2))
    sums = []
    for i in range(n):
        with _part(i, n):
            rows = [tf.add_n([tf.matmul(a[i][k], b[k][j]) for k in range(n)]) for j in range(n)]
            sums += [tf.reduce_sum(block) for block in rows]
    return sums, []


@graph("random")
def random_dag(scale: float) -> Step:
    """Products and element-wise operations of 256 to 1024 columns, wired by chance."""
    dice = np.random.RandomState(0)
    sides = [256, 512, 1024]
    x = {side: tf.placeholder(tf.float32, [512, side]) for side in sides}
    weights = {(a, b): tf.placeholder(tf.float32, [a, b]) for a in sides for b in sides}
    values = list(x.values())
    for _ in range(_count(500, scale, 20)):
        a = values[dice.randint(max(0, len(values) - 40), len(values))]
        side = int(a.shape[1])
        like = [v for v in values[-60:] if v.shape.as_list()[1] == side]
        kind = dice.randint(3)
        if kind == 0:
            values.append(tf.matmul(a, weights[side, sides[dice.randint(3)]]))
        elif kind == 1:
            others = [like[dice.randint(len(like))] for _ in range(dice.randint(1, 3))] if like else []
            values.append(tf.add_n([a, *others]))
        else:
            values.append(tf.tanh(a))
    used = {e for v in values for e in v.op.inputs}
    return [tf.reduce_sum(v) for v in values if v not in used], [*x.values(), *weights.values()]


@graph("seq2seq")
def seq2seq(scale: float) -> Step:
    """An encoder, and a decoder that looks back at all of the encoder's outputs in every step."""
    batch, units, words, steps = 64, 512, 8000, _count(9, scale)
    table, out = _variable(words, units), _variable(units, words)
    source, target = (tf.placeholder(tf.int32, [batch, steps]) for _ in range(2))

    def rows(ids: Any) -> list[Any]:
        return tf.unstack(tf.nn.embedding_lookup(table, ids), axis=1)

    with tf.variable_scope("encoder"):
        encoder = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(units) for _ in range(2)])
        outputs, state = tf.nn.static_rnn(encoder, rows(source), dtype=tf.float32)
    memory = tf.stack(outputs, axis=1)
    losses = []
    with tf.variable_scope("decoder"):
        decoder = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(units) for _ in range(2)])
        for t, row in enumerate(rows(target)):
            if t:
                tf.get_variable_scope().reuse_variables()
            query, state = decoder(row, state)
            weights = tf.nn.softmax(tf.reduce_sum(memory * tf.expand_dims(query, 1), 2))
            context = tf.reduce_sum(memory * tf.expand_dims(weights, 2), 1)
            mixed = tf.layers.dense(tf.concat([query, context], 1), units, tf.nn.tanh, name="mix")
            labels = tf.squeeze(tf.slice(target, [0, t], [batch, 1]), 1)
            losses.append(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.matmul(mixed, out)))
    return _train(tf.reduce_mean(tf.add_n(losses))), [source, target]


@graph("big variables")
def big_variables(scale: float) -> Step:
    """Four layers of 120 MB each: with their gradients more than a device holds."""
    batch, units = 1024, round(5477 * math.sqrt(scale))
    x = h = tf.placeholder(tf.float32, [batch, units])
    for layer in range(4):
        with _part(layer, 4):
            h = _dense(h, units)
    return _train(tf.reduce_mean(tf.square(h))), [x]


@graph("inception")
def inception(scale: float) -> Step:
    """Modules of four branches, trained."""
    batch, side, channels = 32, 28, 192
    images = h = tf.placeholder(tf.float32, [batch, side, side, channels])

    def convolve(x: Any, size: int, filters: int) -> Any:
        kernel = _variable(size, size, x.shape.as_list()[-1], filters)
        return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME"), _variable(filters)))

    for _ in range(_count(4, scale, 1)):
        pooled = tf.nn.max_pool(h, [1, 3, 3, 1], [1, 1, 1, 1], "SAME")
        branches = [
            convolve(h, 1, 64),
            convolve(convolve(h, 1, 96), 3, 128),
            convolve(convolve(h, 1, 32), 5, 64),
            convolve(pooled, 1, 64),
        ]
        h = tf.concat(branches, 3)
    logits = _dense(tf.reduce_mean(h, [1, 2]), 1000, None)
    return _train(tf.reduce_mean(tf.square(logits))), [images]


@graph("transformer")
def transformer(scale: float) -> Step:
    """Four layers of an encoder, trained."""
    batch, length, units, heads = 16, 128, 512, 8
    inputs = tf.placeholder(tf.float32, [batch, length, units])
    rows = tf.reshape(inputs, [-1, units])

    def split(x: Any) -> Any:
        return tf.transpose(tf.reshape(x, [batch, length, heads, units // heads]), [0, 2, 1, 3])

    def normalised(x: Any) -> Any:
        mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
        return tf.nn.batch_normalization(x, mean, variance, _variable(units), _variable(units), 1e-5)

    layers = _count(4, scale, 1)
    for layer in range(layers):
        with _part(layer, layers):
            q, k, v = (split(_dense(rows, units, None)) for _ in range(3))
            seen = tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True)), v)
            merged = tf.reshape(tf.transpose(seen, [0, 2, 1, 3]), [-1, units])
            rows = normalised(rows + _dense(merged, units, None))
            rows = normalised(rows + _dense(_dense(rows, 4 * units), units, None))
    return _train(tf.reduce_mean(tf.square(rows))), [inputs]


@graph("resnet")
def resnet(scale: float) -> Step:
    """A chain of residual blocks with batch normalisation: little that is parallel but the two gradients of each."""
    batch, side, channels = 32, 28, 128
    images = h = tf.placeholder(tf.float32, [batch, side, side, channels])

    def block(x: Any) -> Any:
        y = tf.nn.conv2d(x, _variable(3, 3, channels, channels), [1, 1, 1, 1], "SAME")
        mean, variance = tf.nn.moments(y, [0, 1, 2])
        return tf.nn.batch_normalization(y, mean, variance, _variable(channels), _variable(channels), 1e-5)

    blocks = _count(8, scale, 1)
    for i in range(blocks):
        with _part(i, blocks):
            h = tf.nn.relu(h + block(tf.nn.relu(block(h))))
    return _train(tf.reduce_mean(tf.square(_dense(tf.reduce_mean(h, [1, 2]), 1000, None)))), [images]


@graph("replicas")
def replicas(scale: float) -> Step:
    """Four replicas of a network share its variables: their gradients are averaged."""
    batch, units, layers = 512, 1024, _count(4, scale, 1)
    weights = []
    for layer in range(layers):
        with _part(layer, layers):
            weights.append((_variable(units, units), _variable(units)))
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    inputs, found = [], []
    for i in range(4):
        with _part(i, 4):
            h = tf.placeholder(tf.float32, [batch, units])
            inputs.append(h)
            for w, b in weights:
                h = tf.nn.relu(tf.nn.xw_plus_b(h, w, b))
            loss = tf.reduce_mean(tf.square(h))
            found.append(optimizer.compute_gradients(loss))
    means = [(tf.add_n([gradient for gradient, _ in each]) / 4.0, each[0][1]) for each in zip(*found, strict=True)]
    return optimizer.apply_gradients(means), inputs


@graph("experts")
def experts(scale: float) -> Step:
    """Eight experts see every example; a gate mixes what they say."""
    batch, units, count = 256, 1024, _count(8, scale)
    x = tf.placeholder(tf.float32, [batch, units])
    gates = tf.unstack(tf.nn.softmax(_dense(x, count, None)), axis=1)
    said = []
    for i, gate in enumerate(gates):
        with _part(i, count):
            said.append(_dense(_dense(x, 2048), units) * tf.expand_dims(gate, 1))
    mixed = tf.add_n(said)
    return _train(tf.reduce_mean(tf.square(_dense(mixed, 10, None)))), [x]


@graph("ensemble")
def ensemble(scale: float) -> Step:
    """Ten small models of different sizes, trained in one step."""
    batch = 256
    x = tf.placeholder(tf.float32, [batch, 512])
    trained, count = [], _count(10, scale)
    for i in range(count):
        with _part(i, count):
            h = x
            for _ in range(2 + i % 3):
                h = _dense(h, 256 * (1 + i % 4))
            trained.append(_train(tf.reduce_mean(tf.square(_dense(h, 1, None)))))
    return trained, [x]


@graph("sum")
def sum_of_products(_: float) -> Step:
    """Five products of different sizes and their sum: few enough nodes for every placement to be tried."""
    factors = [[tf.placeholder(tf.float32, shape) for shape in ([512, k], [k, 512])] for k in range(4000, 9000, 1000)]
    y = tf.add_n([tf.matmul(a, b) for a, b in factors])
    return [tf.matmul(y, y)], [x for pair in factors for x in pair]
