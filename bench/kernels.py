"""Steps of a single op, for the 40 most used, compared with TensorFlow: `python -m bench.kernels`.

Inputs are variables and the op is run as a target, so neither feeding nor fetching is timed. Processes of the two
frameworks alternate; a ratio is TensorFlow's time over Penstock's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.frameworks import FRAMEWORKS, import_framework
from bench.machine import describe_machine

ROOT = Path(__file__).resolve().parent.parent
SIZES = {"small": 16, "large": 512}
SECONDS = 0.12
REASONS = """Below 0.5 of TensorFlow, and why (each is torch's own kernel, timed alone, at 512 x 512):

- tanh: torch computes it to the last place in float32, TensorFlow by a rational approximation of a few ulps.
- where: torch chooses element by element with a branch, which random masks mispredict (450 µs; 80 µs for a mask of
  one value).
- max_pool: torch's kernel looks for the places of the maxima too, which only the gradient needs.
"""


def programs(tf: Any, n: int) -> dict[str, Callable[[], Any]]:
    """Name -> builder. Matrices are n x n, images 8 x n/4 x n/4 x 16, indices n."""
    import numpy as np

    random = np.random.RandomState(0)

    def var(*shape: int, dtype: Any = np.float32) -> Any:
        if dtype is np.int32:
            return tf.Variable(random.randint(0, n, shape).astype(dtype), trainable=False)
        return tf.Variable(random.uniform(0.1, 1, shape).astype(dtype))

    a, b, row, rows, batch = var(n, n), var(n, n), var(n), var(n, dtype=np.int32), 8
    image, filters, channels = var(batch, n // 4, n // 4, 16), var(3, 3, 16, 16), var(16)
    labels = tf.one_hot(rows, n)
    return {
        "matmul": lambda: tf.matmul(a, b),
        "add": lambda: tf.add(a, b),
        "add (row)": lambda: tf.add(a, row),
        "subtract": lambda: tf.subtract(a, b),
        "multiply": lambda: tf.multiply(a, b),
        "divide": lambda: tf.div(a, b),
        "square": lambda: tf.square(a),
        "sqrt": lambda: tf.sqrt(a),
        "exp": lambda: tf.exp(a),
        "log": lambda: tf.log(a),
        "pow": lambda: tf.pow(a, b),
        "abs": lambda: tf.abs(a),
        "maximum": lambda: tf.maximum(a, b),
        "tanh": lambda: tf.tanh(a),
        "sigmoid": lambda: tf.sigmoid(a),
        "relu": lambda: tf.nn.relu(a),
        "softmax": lambda: tf.nn.softmax(a),
        "reduce_mean": lambda: tf.reduce_mean(a),
        "reduce_sum (axis)": lambda: tf.reduce_sum(a, 1),
        "reduce_max": lambda: tf.reduce_max(a, 1),
        "argmax": lambda: tf.argmax(a, 1),
        "reshape": lambda: tf.reshape(a, [-1]),
        "transpose": lambda: tf.transpose(a),
        "concat": lambda: tf.concat([a, b], 1),
        "stack": lambda: tf.stack([a, b]),
        "split": lambda: tf.split(a, 4, 1)[0],
        "slice": lambda: tf.slice(a, [1, 1], [n // 2, n // 2]),
        "expand_dims": lambda: tf.expand_dims(a, 0),
        "tile": lambda: tf.tile(a, [2, 2]),
        "pad": lambda: tf.pad(a, [[1, 1], [2, 2]]),
        "cast": lambda: tf.cast(a, tf.int32),
        "equal": lambda: tf.equal(a, b),
        "where": lambda: tf.where(a > b, a, b),
        "one_hot": lambda: tf.one_hot(rows, n),
        "gather": lambda: tf.gather(a, rows),
        "conv2d": lambda: tf.nn.conv2d(image, filters, [1, 1, 1, 1], "SAME"),
        "max_pool": lambda: tf.nn.max_pool(image, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
        "bias_add": lambda: tf.nn.bias_add(image, channels),
        "cross entropy": lambda: tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=a),
        "random_normal": lambda: tf.random_normal([n, n]),
    }


def measure(name: str, n: int) -> dict[str, float]:
    """Median seconds of a step of each op, in this process."""
    tf = import_framework(FRAMEWORKS[name])
    found = {}
    with tf.Graph().as_default():
        target = {what: build().op for what, build in programs(tf, n).items()}
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for what, op in target.items():
                run = session.make_callable(op)
                run()
                times: list[float] = []
                end = time.perf_counter() + SECONDS
                while time.perf_counter() < end or len(times) < 5:
                    start = time.perf_counter()
                    run()
                    times.append(time.perf_counter() - start)
                found[what] = statistics.median(times[len(times) // 4 :])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--worker", nargs=2, metavar=("FRAMEWORK", "N"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        print(json.dumps(measure(args.worker[0], int(args.worker[1]))))
        return 0
    from tqdm import tqdm  # the workers' interpreters may lack it

    times: dict[tuple[str, str], list[dict[str, float]]] = {}
    for turn in tqdm(range(args.rounds), desc="rounds"):
        for size, n in SIZES.items():
            for name in ("penstock", "tensorflow") if turn % 2 else ("tensorflow", "penstock"):
                python = os.environ.get(f"BENCH_PYTHON_{name.upper()}", sys.executable)
                done = subprocess.run(
                    [python, "-m", "bench.kernels", "--worker", name, str(n)],
                    cwd=ROOT, capture_output=True, text=True, check=True,
                )  # fmt: skip
                times.setdefault((size, name), []).append(json.loads(done.stdout.splitlines()[-1]))
    text = "\n".join(
        [f"- Machine: {describe_machine()}", f"- Rounds of fresh processes: {args.rounds}", "", table(times)]
    )
    print(text)
    if args.out:
        args.out.write_text(f"# Single ops\n\n{text}\n")
    return 0


def table(times: dict[tuple[str, str], list[dict[str, float]]]) -> str:
    lines = ["| op | 16: Penstock | TensorFlow | ratio | 512: Penstock | TensorFlow | ratio |", "|---|" + "---|" * 6]
    for what in times["small", "penstock"][0]:
        cells = [what]
        for size in SIZES:
            ours = statistics.median(t[what] for t in times[size, "penstock"])
            theirs = statistics.median(t[what] for t in times[size, "tensorflow"])
            cells += [f"{ours * 1e6:.1f} µs", f"{theirs * 1e6:.1f} µs", f"{theirs / ours:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
