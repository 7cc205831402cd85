"""Data parallelism (white paper, section 7, figure 7): copies of a model on several devices, with one set of weights.

    python examples/towers.py                  # gradients are averaged, weights change once a step
    python examples/towers.py --asynchronous # each copy has its own client thread, and its own pace

The model is a least-squares fit, so that both can be compared with the weights that made the data.
"""

from __future__ import annotations

import argparse
import threading
from typing import Any

import numpy as np

import penstock as tf

TOWERS, FEATURES, BATCH = 2, 10, 64
TRUE = np.linspace(-1, 1, FEATURES).astype(np.float32)[:, None]


def tower(weights: Any, device: str) -> tuple[Any, Any, Any]:
    """One copy: its feeds, and the gradient of its loss."""
    with tf.device(device):
        x = tf.placeholder(tf.float32, [BATCH, FEATURES])
        y = tf.placeholder(tf.float32, [BATCH, 1])
        loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - y))
        return x, y, tf.gradients(loss, weights)[0]


def batch(random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    x = random.randn(BATCH, FEATURES).astype(np.float32)
    return x, x @ TRUE


def main(steps: int = 200, asynchronous: bool = False) -> float:
    """Train. Returns the largest error of a weight."""
    with tf.Graph().as_default():
        with tf.device("/cpu:0"):
            weights = tf.Variable(np.zeros((FEATURES, 1), np.float32))
        towers = [tower(weights, f"/cpu:{i}") for i in range(TOWERS)]
        with tf.device("/cpu:0"):
            average = tf.add_n([grad for _, _, grad in towers]) / float(TOWERS)
            together = weights.assign_sub(0.1 * average)
            alone = [weights.assign_sub(0.1 / TOWERS * grad) for _, _, grad in towers]
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": TOWERS})) as session:
            session.run(tf.global_variables_initializer())
            if asynchronous:
                threads = [
                    threading.Thread(target=client, args=(session, copy, update, seed, steps))
                    for seed, (copy, update) in enumerate(zip(towers, alone, strict=True))
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            else:
                random = np.random.RandomState(0)
                for _ in range(steps):
                    feeds: dict[Any, Any] = {}
                    for x, y, _ in towers:
                        feeds[x], feeds[y] = batch(random)
                    session.run(together.op, feeds)
            error = float(np.abs(session.run(weights) - TRUE).max())
    print(f"{'asynchronous' if asynchronous else 'synchronous'}: largest error of a weight {error:.2e}")
    return error


def client(session: tf.Session, copy: Any, update: Any, seed: int, steps: int) -> None:
    """One client thread, which runs its own copy of the model."""
    random = np.random.RandomState(seed)
    x, y, _ = copy
    for _ in range(steps):
        values, wanted = batch(random)
        session.run(update.op, {x: values, y: wanted})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--asynchronous", action="store_true")
    options = parser.parse_args()
    main(options.steps, options.asynchronous)
