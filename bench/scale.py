"""Published figures of distributed training, beside what the simulator of training predicts.

Machines are described from public figures (`placement/library/`); Inception v3 is built as a graph, and its step comes
from the simulator. `python -m bench.scale --out bench/SCALE.md` takes a minute; nothing in it is measured here.

- **The book** (a Chinese textbook of 2017 on TensorFlow 1.0, figure 1-8, as TensorFlow 0.8 was announced with in April
  2016): synchronous training of Inception with up to 100 GPUs: nearly no loss below 16, 40 times one GPU's speed with
  50, 56 times with 100.
- **The system paper** (Abadi et al., "TensorFlow: A System for Large-Scale Machine Learning", OSDI 2016, sections 6.2
  and 6.3): workers with one K40 each, 17 parameter servers. 2,300 images/s with 200 workers. Of 50 workers and b backup
  workers, the median step gets shorter up to b = 4, where it takes 1.93 s, and longer with the fifth; divided by the
  machines that are used, b = 3 gains most, 9.5%. Synchronous steps take about 10% longer than asynchronous ones. Steps
  that only fetch 100 MB from 16 servers take 147 ms for one worker and 613 ms for each of 100.

**Fitted**, each to one figure:

- that one K40 takes 3.38 s for 32 images: the log in the README of TensorFlow's `models/inception`, March 2016;
- the book's number of parameter servers, which is not published: {servers}, for 56 times with 100 GPUs;
- how much workers' computations differ from step to step: log-normal with a spread of {spread:.1%}, for synchronous
  steps of 50 workers that take 10% longer than asynchronous ones if nothing else counts;
- what one K40 takes in the system paper's tests, which used a later version: {later} s, for the 1.93 s of 50+4;
- how often workers of its test with backups are much slower, as they run on shared machines: {slow:.1%} of the steps
  take {times:g} times as long, for the 9.5% of 50+3.

**Predicted**: everything else. Networks are taken to have 10 Gbit/s, of which headers leave 94%; neither source says
what its network was. Variables go to the servers in turn, as `replica_device_setter` does it; as they differ in size,
17 servers do what {effective:.1f} evenly loaded ones would.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import penstock as tf
from penstock.placement import Hardware, Jitter, ModelPart, ReplicaStep, TrainingCluster, simulate_training
from penstock.placement.training.servers import round_robin

BATCH = 32
STEP, LATER_STEP = 3.38, 1.77
SERVERS, LATER_SERVERS = 5, 17
CALM = Jitter(spread=0.045)
SHARED = Jitter(spread=0.045, slow=0.018, times=1.3)
LEFT = 0.94
"""Of a frame of 1538 bytes, with what is between frames, 1448 are a program's if it uses TCP."""
BOOK = {16: 16.0, 50: 40.0, 100: 56.0}
"""The speedups that are published; "nearly no loss" counts as none."""


def inception(batch: int = BATCH) -> ReplicaStep:
    """The step of Inception v3 with RMSProp on a K40, at the speed of its data sheet."""
    with tf.Graph().as_default():
        images = tf.placeholder(tf.float32, [batch, 299, 299, 3])
        labels = tf.placeholder(tf.int64, [batch])
        model = tf.keras.applications.InceptionV3(weights=None, input_tensor=images)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, model.output)
        train = tf.train.RMSPropOptimizer(0.045, 0.9, 0.9, 1.0).minimize(loss)
        return tf.placement.training_step(train, [images, labels], machines(1))


def machines(servers: int) -> Hardware:
    return Hardware.cluster({"ps": (servers, "cpu_2014"), "worker": (1, "k40x1")})


def cluster_of(servers: int) -> TrainingCluster:
    found = TrainingCluster.of(machines(servers))
    return replace(found, card=LEFT * found.card, server_card=LEFT * found.server_card)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [list(heads), ["---:"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def scaling(step: ReplicaStep, steps: int) -> str:
    """The book's figure."""
    cluster = cluster_of(SERVERS)
    rows = []
    for n in (1, 2, 4, 8, 16, 25, 32, 50, 64, 100):
        found = simulate_training(step, cluster, n, jitter=CALM, steps=steps)
        shares = found.shares
        known = BOOK.get(n)
        rows.append(
            [
                f"{n}",
                f"{known:g}" if known else "",
                f"{found.speedup:.1f}",
                f"{100 * known / n:.0f}%" if known else "",
                f"{100 * found.efficiency:.0f}%",
                f"{found.step_seconds:.2f}",
                *(f"{100 * shares[kind]:.0f}%" for kind in ("parameters", "gradients", "stragglers")),
            ]
        )
    heads = ["GPUs", "speedup, book", "here", "efficiency, book", "here", "step, s", "parameters", "gradients"]
    return table([*heads, "stragglers"], rows)


def backups(step: ReplicaStep, steps: int, most: int = 6) -> str:
    """Median steps of 50 workers with backup workers."""
    cluster = cluster_of(LATER_SERVERS)
    medians = [
        float(np.median(simulate_training(step, cluster, 50, backup=b, jitter=SHARED, steps=steps).seconds))
        for b in range(most + 1)
    ]
    rows = [
        [f"50+{b}", "1.93" if b == 4 else "", f"{median:.3f}", "9.5%" if b == 3 else "",
         f"{100 * (medians[0] / median * 50 / (50 + b) - 1):.1f}%"]
        for b, median in enumerate(medians)
    ]  # fmt: skip
    heads = ["workers", "median step, paper, s", "here", "gain for each machine, paper", "here"]
    shortest = medians.index(min(medians))
    gains = [medians[0] / median * 50 / (50 + b) for b, median in enumerate(medians)]
    return (
        table(heads, rows) + f"\n\nThe shortest step is that of 50+{shortest} (paper: 50+4); for each machine, "
        f"50+{gains.index(max(gains))} gains most (paper: 50+3)."
    )


def throughput(step: ReplicaStep, steps: int) -> str:
    """The system paper's workers, synchronous and not."""
    cluster = cluster_of(LATER_SERVERS)
    rows = []
    for n in (25, 50, 100, 200):
        both = [simulate_training(step, cluster, n, mode, jitter=CALM, steps=steps // 2) for mode in ("async", "sync")]
        medians = [float(np.median(found.seconds)) for found in both]
        rows.append(
            [
                f"{n}",
                "2300" if n == 200 else "",
                *(f"{found.examples_per_second:.0f}" for found in both),
                "about 1.1",
                f"{medians[1] / medians[0]:.2f}",
            ]
        )
    heads = ["workers", "images/s, paper", "here, asynchronous", "here, synchronous"]
    return table([*heads, "median step, synchronous over asynchronous, paper", "here"], rows)


def fetching() -> str:
    """Steps that only fetch parameters: the network alone, with nothing fitted."""
    published = {("100 MB", 1): 0.147, ("100 MB", 100): 0.613, ("1 GB", 1): 1.01, ("1 GB", 100): 7.16}
    cluster = cluster_of(16)
    rows = []
    for (name, n), seconds in published.items():
        size = {"100 MB": 1e8, "1 GB": 1e9}[name]
        step = ReplicaStep((ModelPart(1e-6, 1e-6, pull=size),), examples=1)
        found = simulate_training(step, cluster, n, "async", balance=1.0, steps=5).step_seconds
        rows.append([name, f"{n}", f"{seconds:.3g}", f"{found:.3g}"])
    return table(["fetched", "workers", "step, paper, s", "here"], rows)


def report(steps: int) -> str:
    step = inception()
    first, later = step.lasting(STEP), step.lasting(LATER_STEP)
    effective = LATER_SERVERS * round_robin(step, LATER_SERVERS)
    intro = (__doc__ or "").format(
        servers=SERVERS, later=LATER_STEP, spread=SHARED.spread, slow=SHARED.slow, times=SHARED.times,
        effective=effective,
    )  # fmt: skip
    sections = {
        "Inception with up to 100 GPUs: the book": scaling(first, steps),
        "Backup workers: the system paper": backups(later, 8 * steps),
        "Up to 200 workers: the system paper": throughput(later, steps),
        "Fetching alone: the system paper": "In the tests, one worker got 0.7 to 1 GB/s and a server gave 0.9 to 1, "
        "less than 10 Gbit/s.\n\n" + fetching(),
    }
    at_peak = (
        f"Inception v3, {step.pull / 4e6:.1f} million parameters; at the K40's peak a step takes {step.seconds:.2f} s"
    )
    return "\n".join(
        ["# Training at scale, simulated", "", intro.strip(), "", at_peak + ".", ""]
        + [text for title, body in sections.items() for text in (f"## {title}", "", body, "")]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="published figures of training beside predicted ones")
    parser.add_argument("--steps", type=int, default=30, help="that are simulated of each training (%(default)s)")
    parser.add_argument("--out", type=Path, help="write the report there, too")
    args = parser.parse_args()
    text = report(args.steps)
    print(text)
    if args.out:
        args.out.write_text(text.rstrip() + "\n")


if __name__ == "__main__":
    main()
