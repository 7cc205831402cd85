"""Model parallelism (white paper, section 7): an LSTM of four layers, each on its own device.

    python examples/four_device_lstm.py

Each layer's cell of one time step waits only for the previous step's cell of the same layer and for the layer below, so
the devices work on different time steps at once. The simulator shows this for four accelerators; the training below
runs on four CPU devices of this process, and learns to distinguish rising series from falling ones.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import penstock as tf
from penstock.placement import Hardware, Link, SimulatedDevice
from penstock.placement.calibration import Speeds
from penstock.placement.machines import full_name

LAYERS, STEPS, BATCH, INPUTS = 4, 12, 16, 8


def build(size: int, place: str = "/cpu:{}") -> tuple[Any, Any, Any, Any]:
    """The graph: feeds for series and labels, the loss, and the training operation. `place` is a layer's device."""
    x = tf.placeholder(tf.float32, [BATCH, STEPS, INPUTS], "series")
    labels = tf.placeholder(tf.int32, [BATCH], "labels")
    inputs = tf.unstack(x, axis=1)
    for layer in range(LAYERS):
        with tf.device(place.format(layer)), tf.variable_scope(f"layer{layer}"):
            inputs, _ = tf.nn.static_rnn(tf.nn.rnn_cell.BasicLSTMCell(size), inputs, dtype=tf.float32)
    with tf.device(place.format(LAYERS - 1)):
        logits = tf.layers.dense(inputs[-1], 2)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        train = tf.train.AdamOptimizer(0.01).minimize(loss)
    return x, labels, loss, train


def series(random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Noise with a slope, up (1) or down (0)."""
    labels = random.randint(0, 2, BATCH)
    slope = np.linspace(-1, 1, STEPS)[None, :, None] * (2 * labels - 1)[:, None, None]
    return (slope + random.randn(BATCH, STEPS, INPUTS)).astype(np.float32), labels.astype(np.int32)


def accelerators() -> Hardware:
    """Four simulated devices, and the cost of transfers between them."""
    speeds = Speeds(flops=1e12, bytes_per_second=2e11, launch=5e-6)
    return Hardware([SimulatedDevice(full_name(f"/cpu:{i}"), "CPU", speeds) for i in range(LAYERS)], Link(1e-5, 1e10))


def main(steps: int = 60, size: int = 32) -> float:
    """Simulate and train. Returns the last loss."""
    random = np.random.RandomState(0)
    with tf.Graph().as_default():
        tf.set_random_seed(0)
        x, labels, loss, train = build(size)
        print("As placed by layer:")
        print(tf.placement.simulate_step(loss, [x, labels], accelerators(), strategy="greedy").text())
        config = tf.ConfigProto(device_count={"CPU": LAYERS}, allow_soft_placement=True)
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            value = 0.0
            for step in range(steps):
                values, wanted = series(random)
                value, _ = session.run([loss, train], {x: values, labels: wanted})
                if step % 20 == 0 or step == steps - 1:
                    print(f"step {step:3d}: loss {value:.3f}")
    return float(value)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    main(parser.parse_args().steps)
