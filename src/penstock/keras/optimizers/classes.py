"""Gradient descent with momentum, and methods with a rate for each element (TF: tf.keras.optimizers).

Arguments and defaults are those of TensorFlow 1.15, whose classes are of `optimizer_v2`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.keras import backend as K
from penstock.keras.optimizers.base import Optimizer, apply_op
from penstock.ops.arithmetic import maximum
from penstock.ops.cast import cast
from penstock.ops.unary import sqrt, square


def _rate(learning_rate: Any, kwargs: dict[str, Any]) -> Any:
    """The rate, which may be given as `lr`."""
    return kwargs.pop("lr", learning_rate)


@export("keras.optimizers.SGD")
class SGD(Optimizer):
    """p -= lr * g; with momentum, v = momentum * v - lr * g and p += v.

    nesterov: p += momentum * v - lr * g.
    """

    _hypers = ("name", "learning_rate", "decay", "momentum", "nesterov")
    _slots = ("moment",)
    _saved_hypers = ("decay", "learning_rate", "momentum")
    _saved_slots: Mapping[str, str] = {"moment": "momentum"}
    momentum: Any

    def __init__(
        self, learning_rate: Any = 0.01, momentum: float = 0.0, nesterov: bool = False, name: str = "SGD", **kwargs: Any
    ) -> None:
        super().__init__(_rate(learning_rate, kwargs), name=name, **kwargs)
        self._momentum = float(momentum)
        self._number("momentum", np.float32(momentum))
        self.nesterov = nesterov

    def _kept_slots(self) -> tuple[str, ...]:
        return self._slots if self._momentum else ()

    def _update(self, p: Any, g: Tensor, rate: Tensor, t: Tensor, slots: Any) -> Any:
        if not self._momentum:
            return apply_op("ApplyGradientDescent", p, {}, alpha=rate, delta=g)
        momentum = cast(self.momentum.value(), p.dtype.base_dtype)
        step = cast(rate, p.dtype.base_dtype) * g
        velocity = momentum * slots["moment"].value() - step
        change = momentum * velocity - step if self.nesterov else velocity
        return [slots["moment"].assign(velocity).op, p.assign_add(change).op]


@export("keras.optimizers.RMSprop")
class RMSprop(Optimizer):
    """a = rho * a + (1 - rho) * g²; p -= lr * g / (sqrt(a) + epsilon).

    centered: in place of a, the variance a - m² with m = rho * m + (1 - rho) * g. With momentum, epsilon is within
    the root, and v = momentum * v + lr * g / sqrt(a + epsilon), p -= v.
    """

    _hypers = ("name", "learning_rate", "decay", "rho", "momentum", "epsilon", "centered")
    _slots = ("accumulator", "velocity", "mean")
    _saved_hypers = ("decay", "learning_rate", "momentum", "rho")
    _saved_slots: Mapping[str, str] = {"accumulator": "rms", "velocity": "momentum", "mean": "mg"}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float | None = 1e-7,
        centered: bool = False,
        name: str = "RMSprop",
        **kwargs: Any,
    ) -> None:
        super().__init__(_rate(learning_rate, kwargs), name=name, **kwargs)
        if not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be between [0, 1].")
        self.rho, self.momentum, self.centered = float(rho), float(momentum), centered
        self.epsilon = K.epsilon() if epsilon is None else epsilon

    def _kept_slots(self) -> tuple[str, ...]:
        used = True, bool(self.momentum), self.centered
        return tuple(name for name, kept in zip(self._slots, used, strict=True) if kept)

    def _update(self, p: Any, g: Tensor, rate: Tensor, t: Tensor, slots: Any) -> Any:
        if self.momentum:
            op, mean = ("ApplyCenteredRMSProp", {"mg": slots["mean"]}) if self.centered else ("ApplyRMSProp", {})
            states = {"ms": slots["accumulator"], "mom": slots["velocity"], **mean}
            return apply_op(
                op, p, states, lr=rate, rho=self.rho, momentum=self.momentum, epsilon=self.epsilon, grad=g
            )  # fmt: skip
        squares = self.rho * slots["accumulator"].value() + (1.0 - self.rho) * square(g)
        updates, spread = [slots["accumulator"].assign(squares).op], squares
        if self.centered:
            mean = self.rho * slots["mean"].value() + (1.0 - self.rho) * g
            updates.append(slots["mean"].assign(mean).op)
            spread = squares - square(mean)
        change = cast(rate, p.dtype.base_dtype) * g / (sqrt(spread) + self.epsilon)
        return [*updates, p.assign_sub(change).op]


@export("keras.optimizers.Adagrad")
class Adagrad(Optimizer):
    """a += g²; p -= lr * g / (sqrt(a) + epsilon)."""

    _hypers = ("name", "learning_rate", "decay", "initial_accumulator_value", "epsilon")
    _slots = ("accumulator",)

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float | None = 1e-7,
        name: str = "Adagrad",
        **kwargs: Any,
    ) -> None:
        super().__init__(_rate(learning_rate, kwargs), name=name, **kwargs)
        if initial_accumulator_value < 0:
            raise ValueError(f"initial_accumulator_value must be non-negative: {initial_accumulator_value}")
        self.initial_accumulator_value = initial_accumulator_value
        self.epsilon = K.epsilon() if epsilon is None else epsilon

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A description without an initial value, as a name or one of Keras's class before is, begins with 0."""
        return cls(**{"initial_accumulator_value": 0.0, **config})

    def _begin(self, name: str) -> float:
        return self.initial_accumulator_value

    def _update(self, p: Any, g: Tensor, rate: Tensor, t: Tensor, slots: Any) -> Any:
        squares = slots["accumulator"].value() + square(g)
        change = cast(rate, p.dtype.base_dtype) * g / (sqrt(squares) + self.epsilon)
        return [slots["accumulator"].assign(squares).op, p.assign_sub(change).op]


@export("keras.optimizers.Adadelta")
class Adadelta(Optimizer):
    """Steps of the size of the last steps (Zeiler 2012)."""

    _hypers = ("name", "learning_rate", "decay", "rho", "epsilon")
    _slots = ("accum", "accum_update")
    _saved_hypers = ("decay", "learning_rate", "rho")
    _saved_slots: Mapping[str, str] = {"accum": "accum_grad", "accum_update": "accum_var"}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.95,
        epsilon: float | None = 1e-7,
        name: str = "Adadelta",
        **kwargs: Any,
    ) -> None:
        super().__init__(_rate(learning_rate, kwargs), name=name, **kwargs)
        self.rho, self.epsilon = rho, K.epsilon() if epsilon is None else epsilon

    def _update(self, p: Any, g: Tensor, rate: Tensor, t: Tensor, slots: Any) -> Any:
        return apply_op("ApplyAdadelta", p, slots, lr=rate, rho=self.rho, epsilon=self.epsilon, grad=g)


@export("keras.optimizers.Adam")
class Adam(Optimizer):
    """Kingma and Ba's (2014): m and v follow g and g²; p -= lr * m / (sqrt(v) + epsilon), corrected for their start.

    amsgrad: with the greatest v so far.
    """

    _hypers = ("name", "learning_rate", "decay", "beta_1", "beta_2", "epsilon", "amsgrad")
    _slots = ("m", "v", "vhat")
    _saved_hypers = ("beta_1", "beta_2", "decay", "learning_rate")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float | None = 1e-7,
        amsgrad: bool = False,
        name: str = "Adam",
        **kwargs: Any,
    ) -> None:
        super().__init__(_rate(learning_rate, kwargs), name=name, **kwargs)
        self.beta_1, self.beta_2 = float(beta_1), float(beta_2)
        self.epsilon, self.amsgrad = K.epsilon() if epsilon is None else epsilon, amsgrad

    def _kept_slots(self) -> tuple[str, ...]:
        return self._slots if self.amsgrad else self._slots[:2]

    def _update(self, p: Any, g: Tensor, rate: Tensor, t: Tensor, slots: Any) -> Any:
        powers = pow(self.beta_1, t), pow(self.beta_2, t)
        if not self.amsgrad:
            return apply_op(
                "ApplyAdam", p, {"m": slots["m"], "v": slots["v"]}, beta1_power=powers[0], beta2_power=powers[1],
                lr=rate, beta1=self.beta_1, beta2=self.beta_2, epsilon=self.epsilon, grad=g,
            )  # fmt: skip
        step = cast(rate * sqrt(1.0 - powers[1]) / (1.0 - powers[0]), p.dtype.base_dtype)
        m = self.beta_1 * slots["m"].value() + (1.0 - self.beta_1) * g
        v = self.beta_2 * slots["v"].value() + (1.0 - self.beta_2) * square(g)
        greatest = maximum(slots["vhat"].value(), v)
        change = step * m / (sqrt(greatest) + self.epsilon)
        slots_then = [slots[name].assign(value).op for name, value in (("m", m), ("v", v), ("vhat", greatest))]
        return [*slots_then, p.assign_sub(change).op]


@export("keras.optimizers.Adamax")
class Adamax(Optimizer):
    """Adam with the greatest |g| of the past in place of sqrt(v)."""

    _hypers = ("name", "learning_rate", "decay", "beta_1", "beta_2", "epsilon")
    _saved_hypers = ("beta_1", "beta_2", "decay", "learning_rate")
    _slots = ("m", "v")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float | None = 1e-7,
        name: str = "Adamax",
        **kwargs: Any,
    ) -> None:
        super().__init__(_rate(learning_rate, kwargs), name=name, **kwargs)
        self.beta_1, self.beta_2 = float(beta_1), float(beta_2)
        self.epsilon = K.epsilon() if epsilon is None else epsilon

    def _update(self, p: Any, g: Tensor, rate: Tensor, t: Tensor, slots: Any) -> Any:
        step = cast(rate / (1.0 - pow(self.beta_1, t)), p.dtype.base_dtype)
        m = self.beta_1 * slots["m"].value() + (1.0 - self.beta_1) * g
        u = maximum(self.beta_2 * slots["v"].value(), abs(g))
        change = step * m / (u + self.epsilon)
        return [slots["m"].assign(m).op, slots["v"].assign(u).op, p.assign_sub(change).op]


@export("keras.optimizers.Nadam")
class Nadam(Optimizer):
    """Adam with Nesterov's momentum (Dozat 2016), which grows with the steps.

    schedule_decay: how fast it grows; `get_config` has it as `decay`, as TensorFlow does.
    """

    _hypers = ("name", "learning_rate", "decay", "beta_1", "beta_2", "epsilon")
    _saved_hypers = ("beta_1", "beta_2", "decay", "learning_rate", "momentum_cache")
    _slots = ("m", "v")
    m_schedule: Any

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float | None = 1e-7,
        name: str = "Nadam",
        *,
        schedule_decay: float = 0.004,
        **kwargs: Any,
    ) -> None:
        super().__init__(_rate(learning_rate, kwargs), name=name, **{**kwargs, "decay": schedule_decay})
        self.initial_decay = 0.0  # of the rate
        self.beta_1, self.beta_2 = float(beta_1), float(beta_2)
        self.epsilon, self.schedule_decay = K.epsilon() if epsilon is None else epsilon, schedule_decay
        self._number("m_schedule", np.float32(1.0))

    @property
    def momentum_cache(self) -> Any:
        """The product of the momenta so far, as TensorFlow calls it."""
        return self.m_schedule

    def _own(self) -> list[Any]:
        return [self.m_schedule]

    def _updates(self, grads: list[Any], params: list[Any]) -> list[Any]:
        t = cast(self.iterations.value() + 1, "float32")
        self._now, self._next = (
            self.beta_1 * (1.0 - 0.5 * pow(0.96, step * self.schedule_decay)) for step in (t, t + 1.0)
        )
        self._product = self.m_schedule.value() * self._now
        updates = super()._updates(grads, params)
        updates.append(self.m_schedule.assign(self._product).op)
        return updates

    def _update(self, p: Any, g: Tensor, rate: Tensor, t: Tensor, slots: Any) -> Any:
        m = self.beta_1 * slots["m"].value() + (1.0 - self.beta_1) * g
        v = self.beta_2 * slots["v"].value() + (1.0 - self.beta_2) * square(g)
        kind = p.dtype.base_dtype
        of_g = cast((1.0 - self._now) / (1.0 - self._product), kind)
        of_m = cast(self._next / (1.0 - self._product * self._next), kind)
        spread = sqrt(v / cast(1.0 - pow(self.beta_2, t), kind)) + self.epsilon
        change = cast(rate, kind) * (of_g * g + of_m * m) / spread
        return [slots["m"].assign(m).op, slots["v"].assign(v).op, p.assign_sub(change).op]
