"""Compiled clusters compared with the torch kernels of their members: `python -m bench.clusters`.

Two chains: 200 operations on a million floats, where memory traffic dominates, and 2,000 on ten floats, where call
overhead does.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch

import penstock as tf
from penstock.codegen.clusters.cluster_kernel import make_cluster_kernel
from penstock.codegen.compile_nodes import compile_nodes
from penstock.codegen.compiled.members import Members
from penstock.graph.operation import Tensor
from penstock.passes.prune import prune
from penstock.runtime.kernels import SessionState
from penstock.runtime.resources import ResourceManager

Step = Callable[[Tensor, Tensor], Tensor]
MIXED: list[Step] = [
    lambda y, x: tf.tanh(y),
    lambda y, x: y * x,
    lambda y, x: y + x,
    lambda y, x: tf.maximum(y, x),
    lambda y, x: tf.sigmoid(y),
    lambda y, x: y - x,
]
TANH: list[Step] = [lambda y, x: tf.tanh(y), lambda y, x: y * 1.01]


def chain(steps: list[Step], count: int, size: int, rounds: int) -> None:
    """Time `count` operations on `size` floats both ways, alternately, and print the medians."""
    with tf.Graph().as_default():
        x = tf.placeholder("float32", [None])
        y = x
        for i in range(count):
            y = steps[i % len(steps)](y, x)
        graph = compile_nodes(prune([x], [y], []), "on")
    nodes = [n for n in graph.nodes if n.op.name == "_Cluster"]
    state = SessionState(ResourceManager())
    cpu = torch.device("cpu")
    kernels = [make_cluster_kernel(node, cpu, state, "on").call for node in nodes]
    fallbacks = [Members(node.attrs["body"], cpu, state).run for node in nodes]
    value = torch.from_numpy(np.random.default_rng(0).uniform(-1, 1, size).astype(np.float32))

    def run(fns: list[Callable[..., torch.Tensor]]) -> torch.Tensor:
        found = value
        for i, fn in enumerate(fns):
            found = fn(found) if i == 0 or steps is TANH else fn(found, value)
        return found

    with torch.inference_mode():
        start = time.perf_counter()
        run(kernels)
        first = time.perf_counter() - start
        difference = (run(kernels) - run(fallbacks)).abs().max().item()
        times: dict[str, list[float]] = {"cluster": [], "torch": []}
        for _ in range(rounds):
            for name, fns in (("cluster", kernels), ("torch", fallbacks)):
                start = time.perf_counter()
                run(fns)
                times[name].append(time.perf_counter() - start)
    cluster, torch_ = (float(np.median(t)) * 1e6 for t in times.values())
    print(
        f"{count} ops on {size:>7} floats in {len(nodes)} clusters: {cluster:9.1f} µs, torch {torch_:9.1f} µs, "
        f"{torch_ / cluster:5.1f} times as fast; first call {first:.2f} s; largest difference {difference:.1e}"
    )


def main() -> None:
    for steps in (TANH, MIXED):
        chain(steps, 200, 1_000_000, 20)
        chain(steps, 2000, 10, 200)
        chain(steps[:2], 2, 16, 5000)


if __name__ == "__main__":
    main()
