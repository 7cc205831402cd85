"""Model parallelism over processes: the LSTM of ../four_device_lstm.py, each of its four layers in a task of its own.

    python examples/cluster/layered_lstm.py

One client, whose graph spans the cluster (in-graph): a step is one call of each task, and the tasks send each other
what the next layer needs, time step by time step.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from tqdm import tqdm

import penstock as tf

sys.path.insert(0, str(Path(__file__).parent.parent))
from four_device_lstm import LAYERS, build, series


def main(steps: int = 60, size: int = 32, on: str = "processes") -> float:
    """Returns the last loss."""
    random = np.random.RandomState(0)
    with tf.Graph().as_default(), tf.cluster.start({"worker": LAYERS}, on=on) as cluster:
        tf.set_random_seed(0)
        x, labels, loss, train = build(size, "/job:worker/task:{}")
        with tf.Session(cluster.target) as session:
            print("Devices:", *(device.name for device in session.list_devices()))
            session.run(tf.global_variables_initializer())
            value = 0.0
            with tqdm(total=steps, unit="step", mininterval=0.5) as bar:
                for _ in range(steps):
                    values, wanted = series(random)
                    value, _ = session.run([loss, train], {x: values, labels: wanted})
                    bar.update()
                    bar.set_postfix(loss=f"{value:.3f}", refresh=False)
    print(f"The loss after {steps} steps is {value:.3f}")
    return float(value)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument(
        "--on", default="processes", help="processes of this machine (default), ray, or a Ray's address"
    )
    given = parser.parse_args()
    main(given.steps, on=given.on)
