"""Shared by the training steps: the step itself, and optimizers for JAX, which has none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

Step = Callable[[], float]  # trains once and returns the loss before the update


def tf_training(tf: ModuleType, loss: Any, train: Any, feeds: Mapping[Any, Any]) -> Step:
    session = tf.Session()
    session.run(tf.global_variables_initializer())

    def step() -> float:
        loss_value, _ = session.run([loss, train], feeds)
        return float(loss_value)

    return step


def torch_training(optimizer: Any, loss_of: Callable[[], Any]) -> Step:
    def step() -> float:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return step


@dataclass(frozen=True)
class JaxOptimizer:
    """In the manner of optax: `init(params) -> state` and `update(params, gradients, state) -> params, state`."""

    init: Callable[[Any], Any]
    update: Callable[[Any, Any, Any], tuple[Any, Any]]


def jax_training(
    jax: ModuleType, loss_of: Callable[..., Any], params: Any, inputs: Sequence[Any], optimizer: JaxOptimizer
) -> Step:
    """`loss_of(params, *inputs)` is a scalar; `inputs` are given as NumPy arrays in each step."""

    @partial(jax.jit, donate_argnums=(0, 1))
    def update(params: Any, state: Any, *inputs: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(params, *inputs)
        return loss, *optimizer.update(params, gradients, state)

    params = jax.tree.map(jax.numpy.array, params)
    state = optimizer.init(params)

    def step() -> float:
        nonlocal params, state
        loss, params, state = update(params, state, *inputs)
        return float(loss)

    return step


def jax_sgd(jax: ModuleType, rate: float) -> JaxOptimizer:
    def update(params: Any, gradients: Any, state: Any) -> tuple[Any, Any]:
        return jax.tree.map(lambda p, g: p - rate * g, params, gradients), state

    return JaxOptimizer(lambda params: (), update)


def jax_momentum(jax: ModuleType, rate: float, momentum: float) -> JaxOptimizer:
    def update(params: Any, gradients: Any, momenta: Any) -> tuple[Any, Any]:
        momenta = jax.tree.map(lambda m, g: momentum * m + g, momenta, gradients)
        return jax.tree.map(lambda p, m: p - rate * m, params, momenta), momenta

    return JaxOptimizer(partial(jax.tree.map, jax.numpy.zeros_like), update)


def jax_adagrad(jax: ModuleType, rate: float, initial: float = 0.1) -> JaxOptimizer:
    def update(params: Any, gradients: Any, sums: Any) -> tuple[Any, Any]:
        sums = jax.tree.map(lambda s, g: s + g * g, sums, gradients)
        return jax.tree.map(lambda p, g, s: p - rate * g * jax.lax.rsqrt(s), params, gradients, sums), sums

    return JaxOptimizer(partial(jax.tree.map, lambda p: jax.numpy.full_like(p, initial)), update)


def jax_adam(jax: ModuleType, rate: float) -> JaxOptimizer:
    """With TensorFlow's formulas and defaults."""
    jnp = jax.numpy
    beta1, beta2, epsilon = 0.9, 0.999, 1e-8

    def init(params: Any) -> Any:
        return jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params), jnp.array(0.0)

    def update(params: Any, gradients: Any, state: Any) -> tuple[Any, Any]:
        first, second, count = state
        count = count + 1
        scaled = rate * jnp.sqrt(1 - beta2**count) / (1 - beta1**count)
        first = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, first, gradients)
        second = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, second, gradients)
        params = jax.tree.map(lambda p, m, v: p - scaled * m / (jnp.sqrt(v) + epsilon), params, first, second)
        return params, (first, second, count)

    return JaxOptimizer(init, update)
