"""The Kullback-Leibler divergence of pairs of classes of distributions (TF: tf.distributions.kl_divergence)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.ops.basic import identity
from penstock.ops.compare import logical_not
from penstock.ops.logging import Assert
from penstock.ops.reduce import reduce_any
from penstock.ops.rounding import is_nan

_registered: dict[tuple[type, type], Callable[..., Any]] = {}


@export("distributions.RegisterKL", "contrib.distributions.RegisterKL")
class RegisterKL:
    """Registers a function (a, b, name=None) as the divergence of two classes and of their subclasses.

    Raises TypeError for what is not a function, ValueError if the pair has one already.
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _registered:
            names = " || ".join(cls.__name__ for cls in self._key)
            raise ValueError(f"KL({names}) has already been registered to: {_registered[self._key]}")
        _registered[self._key] = kl_fn
        return kl_fn


def _nearest(a: type, b: type) -> Callable[..., Any] | None:
    """The function registered for the nearest classes in both inheritance orders."""
    pairs = [
        (up_a + up_b, _registered[parent_a, parent_b])
        for up_a, parent_a in enumerate(a.__mro__)
        for up_b, parent_b in enumerate(b.__mro__)
        if (parent_a, parent_b) in _registered
    ]
    return min(pairs, key=lambda pair: pair[0])[1] if pairs else None


@export("distributions.kl_divergence", "contrib.distributions.kl", "contrib.distributions.kl_divergence")
def kl_divergence(
    distribution_a: Any, distribution_b: Any, allow_nan_stats: bool = True, name: str | None = None
) -> Tensor:
    """KL(a || b), the mean over `a` of log a(x) / b(x), in nats: [*batch_shape].

    Raises NotImplementedError if none is registered for the classes. With `allow_nan_stats=False`, the step raises
    InvalidArgumentError if the result is NaN.
    """
    found = _nearest(type(distribution_a), type(distribution_b))
    if found is None:
        raise NotImplementedError(
            "No KL(distribution_a || distribution_b) registered for distribution_a type "
            f"{type(distribution_a).__name__} and distribution_b type {type(distribution_b).__name__}"
        )
    with name_scope("KullbackLeibler"):
        divergence = found(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return divergence
        message = (
            f"KL calculation between {distribution_a.name} and {distribution_b.name} returned NaN values (and was "
            "called with allow_nan_stats=False). Values:"
        )
        with control_dependencies([Assert(logical_not(reduce_any(is_nan(divergence))), [message, divergence])]):
            return identity(divergence, name="checked_kl")


def cross_entropy(ref: Any, other: Any, allow_nan_stats: bool = True, name: str | None = None) -> Tensor:
    """The mean over `ref` of -log other(x): its entropy plus KL(ref || other)."""
    with name_scope(name, "cross_entropy"):
        return ref.entropy() + kl_divergence(ref, other, allow_nan_stats)
