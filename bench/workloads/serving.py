"""100 requests to one session from 4 threads: each the classes of 8 rows by an MLP 784-256-10."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import numpy as np

from bench.workloads.parameters import examples, he_normal, zeros
from bench.workloads.torch_layers import linear

THREADS, REQUESTS, ROWS = 4, 25, 8  # requests of each thread
INPUTS, HIDDEN, CLASSES = 784, 256, 10


def requests() -> list[np.ndarray]:
    """What each thread asks, [ROWS, INPUTS] float32."""
    return np.split(examples([THREADS * ROWS, INPUTS], CLASSES)[0], THREADS)


def parameters() -> tuple[np.ndarray, ...]:
    rng = np.random.RandomState(1)
    return he_normal(rng, INPUTS, HIDDEN), zeros(HIDDEN), he_normal(rng, HIDDEN, CLASSES), zeros(CLASSES)


def serve(answer: Callable[[np.ndarray], np.ndarray]) -> Callable[[], float]:
    """A step that calls `answer`, from rows to probabilities [ROWS, CLASSES], and sums those of the likeliest."""
    pool = ThreadPoolExecutor(THREADS)
    rows = requests()

    def client(mine: np.ndarray) -> float:
        return float(sum(answer(mine).max(1).sum() for _ in range(REQUESTS)))

    return lambda: sum(pool.map(client, rows))


def build(tf: ModuleType) -> Callable[[], float]:
    w1, b1, w2, b2 = (tf.Variable(value) for value in parameters())
    x = tf.placeholder(tf.float32, [None, INPUTS])
    h = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w1), b1))
    probabilities = tf.nn.softmax(tf.nn.bias_add(tf.matmul(h, w2), b2))
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return serve(lambda rows: session.run(probabilities, {x: rows}))


def torch_eager(torch: ModuleType) -> Callable[[], float]:
    w1, b1, w2, b2 = parameters()
    model = torch.nn.Sequential(linear(torch, w1, b1), torch.nn.ReLU(), linear(torch, w2, b2), torch.nn.Softmax(1))

    def answer(rows: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return model(torch.from_numpy(rows)).numpy()

    return serve(answer)


def jax_jit(jax: ModuleType) -> Callable[[], float]:
    params = jax.tree.map(jax.numpy.array, parameters())

    @jax.jit
    def classify(params: Any, x: Any) -> Any:
        w1, b1, w2, b2 = params
        return jax.nn.softmax(jax.nn.relu(x @ w1 + b1) @ w2 + b2)

    return serve(lambda rows: np.asarray(classify(params, rows)))
