"""One add of a fed scalar: what a Session.run costs when there is nothing to compute.

Each step feeds what the one before returned, so the check values count 1, 2, 3 and no step can be skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

MIN_RATIO = 10.0


def build(tf: ModuleType) -> Callable[[], float]:
    x = tf.placeholder(tf.float32, [])
    y = x + tf.constant(1.0)
    session = tf.Session()
    value = 0.0

    def step() -> float:
        nonlocal value
        value = session.run(y, {x: value})
        return float(value)

    return step


def torch_eager(torch: ModuleType) -> Callable[[], float]:
    one = torch.tensor(1.0)
    value = 0.0

    def step() -> float:
        nonlocal value
        value = float(torch.tensor(value) + one)
        return value

    return step


def jax_jit(jax: ModuleType) -> Callable[[], float]:
    add_one = jax.jit(lambda x: x + 1.0)
    value = 0.0

    def step() -> float:
        nonlocal value
        value = float(add_one(value))
        return value

    return step
