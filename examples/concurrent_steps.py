"""Pipelining (white paper, section 7): several concurrent steps keep a device busy while another one waits.

    python examples/concurrent_steps.py

A step prepares a batch on one device and processes it on the other. One client thread leaves each device idle half of
the time; with two or more threads, one batch is prepared while the previous one is processed.
"""

from __future__ import annotations

import argparse
import threading
import time
from typing import Any

import numpy as np

import penstock as tf


def build(size: int) -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [size, size])
    with tf.device("/cpu:0"):
        prepared = x
        for _ in range(4):
            prepared = tf.matmul(prepared, x)
    with tf.device("/cpu:1"):
        done = prepared
        for _ in range(4):
            done = tf.matmul(done, x)
        return x, tf.reduce_sum(done)


def run(
    session: tf.Session, x: Any, fetch: Any, value: np.ndarray, steps: int, threads: int
) -> tuple[float, set[float]]:
    """The seconds that `steps` steps take with this number of client threads, and their results."""
    found: set[float] = set()
    left = iter(range(steps))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                if next(left, None) is None:
                    return
            found.add(float(session.run(fetch, {x: value})))

    clients = [threading.Thread(target=work) for _ in range(threads)]
    start = time.perf_counter()
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return time.perf_counter() - start, found


def main(steps: int = 60, size: int = 256) -> dict[int, float]:
    """Steps a second for one, two and four client threads."""
    value = (np.random.RandomState(0).rand(size, size) / size).astype(np.float32)
    rates = {}
    with tf.Graph().as_default():
        x, fetch = build(size)
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            run(session, x, fetch, value, 5, 1)
            for threads in (1, 2, 4):
                seconds, found = run(session, x, fetch, value, steps, threads)
                assert np.ptp(list(found)) <= 1e-5 * max(found), "steps under way at once must not disturb each other"
                rates[threads] = steps / seconds
                print(f"{threads} client thread{'s' if threads > 1 else ' '}: {rates[threads]:6.1f} steps a second")
    return rates


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    main(parser.parse_args().steps)
