"""Training with all-reduce in a ring: each replica has all parameters and sums up gradients with its neighbours.

Gradients of parts are summed one after the other, as soon as all replicas have them, while earlier parts are computed
backward. In a ring of n, each byte is sent 2 (n - 1) / n times by each replica, in 2 (n - 1) messages.
"""

from __future__ import annotations

import numpy as np

from penstock.placement.training.noise import Jitter
from penstock.placement.training.replica import ReplicaStep
from penstock.placement.training.result import COMPUTE, GRADIENTS, STRAGGLERS, UPDATES, Training
from penstock.placement.training.surroundings import Cluster


def all_reduce_seconds(size: float, replicas: int, rate: float, latency: float) -> float:
    """How long it takes to sum up `size` bytes of each of so many replicas."""
    if replicas == 1:
        return 0.0
    return 2 * (replicas - 1) * (size / replicas / rate + latency)


def train(
    step: ReplicaStep, cluster: Cluster, replicas: int, jitter: Jitter | None = None, steps: int = 30
) -> Training:
    """`steps` synchronous steps."""
    factors = (jitter or Jitter()).draw(steps, replicas)
    slowest = factors.max(axis=1)
    rate, latency = cluster.ring(replicas * step.devices)
    computed = sum(part.forward for part in step.parts) * slowest
    summed = np.zeros(steps)
    busy = 0.0
    for part in reversed(step.parts):
        computed = computed + part.backward * slowest
        seconds = all_reduce_seconds(part.push, replicas, rate, latency)
        summed = np.maximum(summed, computed) + seconds
        busy += seconds
    seconds = np.maximum(summed, computed) + step.update
    mean = float(step.seconds * factors.mean())
    spent = {
        COMPUTE: mean,
        GRADIENTS: float((np.maximum(summed, computed) - computed).mean()),
        STRAGGLERS: float(computed.mean()) - mean,
        UPDATES: step.update,
    }
    whole = float(seconds.mean())
    where = "the network cards" if replicas * step.devices > cluster.per_host else "the links between devices"
    return Training(
        "ring", replicas, 0, step.devices * replicas, seconds, step.examples * replicas / whole, step.alone, spent,
        {where: busy / whole}, {"worker": step.peak},
    )  # fmt: skip
