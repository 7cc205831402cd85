"""The first run of that graph: opening a session, initialising the variables and one training step; once per process.

JAX traces and compiles its own program in that time. An eager framework prepares nothing.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from bench.workloads import graph_build
from bench.workloads.graph_build import LEARNING_RATE, data, parameters
from bench.workloads.training import Step, jax_sgd, jax_training

MEASURES = "first_run"
build = graph_build.build


def jax_jit(jax: ModuleType) -> Step:
    def loss_of(layers: Any, x: Any) -> Any:
        for weights, biases in layers:
            x = jax.nn.relu(x @ weights + biases)
        return jax.numpy.square(x).mean()

    return jax_training(jax, loss_of, parameters(), [data()], jax_sgd(jax, LEARNING_RATE))
