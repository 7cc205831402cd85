"""Batch renormalisation (Ioffe, 2017): batches that are normalised alike in training and after it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from penstock.graph.operation import Tensor
from penstock.graph.scopes import control_dependencies
from penstock.layers.core import choose
from penstock.ops.arithmetic import maximum, minimum
from penstock.ops.basic import identity
from penstock.ops.filling import ones_like, zeros_like
from penstock.ops.passing import stop_gradient
from penstock.ops.unary import sqrt
from penstock.train.moving_averages import assign_moving_average

_BOUNDS = ("rmax", "rmin", "dmax")


class Renormalization:
    """The moving mean and deviation that correct a batch's, and the moving deviation that outlives training.

    add_weight(name, initializer) makes a variable. clipping: bounds "rmin" and "rmax" of the ratio of deviations and
    "dmax" of the shift of the mean, numbers or tensors. Raises ValueError for others.
    """

    def __init__(self, momentum: float, clipping: Mapping[str, Any] | None, epsilon: float) -> None:
        self._clipping = dict(clipping or {})
        if set(self._clipping) - set(_BOUNDS):
            raise ValueError(f"renorm_clipping {self._clipping} contains keys not in {list(_BOUNDS)}")
        self._momentum, self._epsilon = momentum, epsilon

    def build(self, add_weight: Callable[[str, Any], Any], mean_initializer: Any, variance_initializer: Any) -> None:
        def deviation(*args: Any, **kwargs: Any) -> Tensor:
            return sqrt(variance_initializer(*args, **kwargs))

        self.moving_stddev = add_weight("moving_stddev", deviation)
        self.renorm_mean = add_weight("renorm_mean", mean_initializer)
        self.renorm_stddev = add_weight("renorm_stddev", deviation)

    def corrections(self, mean: Tensor, variance: Tensor, training: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The factor and the offset of normalised values, without gradients, which are 1 and 0 outside training; then
        the mean and the variance, which wait until the averages of this class have been updated."""
        deviation = sqrt(variance + self._epsilon)
        average = maximum(self.renorm_stddev, math.sqrt(self._epsilon))
        ratio, shift = deviation / average, (mean - self.renorm_mean) / average
        with control_dependencies([ratio, shift]):  # of the averages before they are updated
            values = (self.renorm_mean, identity(mean)), (self.renorm_stddev, identity(deviation))
        updates = [self._followed(average, value, training) for average, value in values]
        ratio, shift = self._clipped(ratio, shift)
        ratio = choose(training, lambda: ratio, lambda: ones_like(ratio))
        shift = choose(training, lambda: shift, lambda: zeros_like(shift))
        with control_dependencies(updates):
            return stop_gradient(ratio), stop_gradient(shift), identity(mean), identity(variance)

    def _followed(self, average: Any, value: Tensor, training: Any) -> Any:
        def follow() -> Any:
            return assign_moving_average(average, value, self._momentum, zero_debias=False)

        return choose(training, follow, lambda: identity(average))

    def _clipped(self, ratio: Tensor, shift: Tensor) -> tuple[Tensor, Tensor]:
        lowest, highest, furthest = (self._clipping.get(bound) for bound in ("rmin", "rmax", "dmax"))
        if lowest is not None:
            ratio = maximum(ratio, lowest)
        if highest is not None:
            ratio = minimum(ratio, highest)
        if furthest is not None:
            shift = minimum(maximum(shift, -furthest), furthest)
        return ratio, shift

    def follow(self, moving_variance: Any, variance: Tensor, momentum: float) -> Any:
        """Update the moving deviation, and the moving variance from it."""
        deviation = assign_moving_average(
            self.moving_stddev, sqrt(variance + self._epsilon), momentum, zero_debias=False
        )
        return moving_variance.assign(maximum(deviation * deviation - self._epsilon, 0.0))
