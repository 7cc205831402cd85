"""Learning rates that follow the optimizer's steps (TF: tf.keras.optimizers.schedules)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.keras.named import described, from_description
from penstock.train.schedules import exponential_decay, inverse_time_decay, piecewise_constant, polynomial_decay


@export("keras.optimizers.schedules.LearningRateSchedule")
class LearningRateSchedule:
    """A function of the number of steps that an optimizer has made, which takes it as `learning_rate`.

    Subclasses define `__call__(step)`, which returns the rate, and `get_config()` for files.
    """

    def __call__(self, step: Any) -> Any:
        raise NotImplementedError("Learning rate schedule must override __call__")

    def get_config(self) -> dict[str, Any]:
        raise NotImplementedError("Learning rate schedule must override get_config")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        return cls(**config)


class _OfArguments(LearningRateSchedule):
    """A schedule whose description is its arguments, which are attributes."""

    _names: tuple[str, ...]

    def get_config(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._names}


class _OfRate(_OfArguments):
    """A schedule that has a rate of decay."""

    _names = ("initial_learning_rate", "decay_steps", "decay_rate", "staircase", "name")

    def __init__(
        self, initial_learning_rate: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False, name: Any = None
    ) -> None:
        self.initial_learning_rate, self.decay_steps, self.decay_rate = initial_learning_rate, decay_steps, decay_rate
        self.staircase, self.name = staircase, name


@export("keras.optimizers.schedules.ExponentialDecay")
class ExponentialDecay(_OfRate):
    """`initial_learning_rate * decay_rate ** (step / decay_steps)`; `staircase` takes whole periods only."""

    def __call__(self, step: Any) -> Tensor:
        first = self.initial_learning_rate
        return exponential_decay(first, step, self.decay_steps, self.decay_rate, self.staircase, self.name)


@export("keras.optimizers.schedules.InverseTimeDecay")
class InverseTimeDecay(_OfRate):
    """`initial_learning_rate / (1 + decay_rate * step / decay_steps)`; `staircase` takes whole periods only."""

    def __call__(self, step: Any) -> Tensor:
        first = self.initial_learning_rate
        return inverse_time_decay(first, step, self.decay_steps, self.decay_rate, self.staircase, self.name)


@export("keras.optimizers.schedules.PolynomialDecay")
class PolynomialDecay(_OfArguments):
    """From `initial_learning_rate` to `end_learning_rate` in `decay_steps`, as `(1 - fraction) ** power`; `cycle`
    restarts after that, each time over a longer multiple of `decay_steps`."""

    _names = ("initial_learning_rate", "decay_steps", "end_learning_rate", "power", "cycle", "name")

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        end_learning_rate: Any = 0.0001,
        power: Any = 1.0,
        cycle: bool = False,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.end_learning_rate, self.power, self.cycle, self.name = end_learning_rate, power, cycle, name

    def __call__(self, step: Any) -> Tensor:
        return polynomial_decay(
            self.initial_learning_rate, step, self.decay_steps, self.end_learning_rate, self.power, self.cycle,
            self.name,
        )  # fmt: skip


@export("keras.optimizers.schedules.PiecewiseConstantDecay")
class PiecewiseConstantDecay(_OfArguments):
    """`values[i]` up to the step `boundaries[i]`; after all, the last value. Raises ValueError unless there is one
    more value than boundaries."""

    _names = ("boundaries", "values", "name")

    def __init__(self, boundaries: Any, values: Any, name: str | None = None) -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError("The length of boundaries should be 1 less than the length of values")
        self.boundaries, self.values, self.name = boundaries, values, name

    def __call__(self, step: Any) -> Tensor:
        return piecewise_constant(step, self.boundaries, self.values, self.name)


@export("keras.optimizers.schedules.serialize")
def serialize(learning_rate_schedule: LearningRateSchedule) -> Any:
    """Plain data from which the schedule can be made again."""
    return described(learning_rate_schedule)


@export("keras.optimizers.schedules.deserialize")
def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The schedule that plain data describes."""
    return from_description("optimizers.schedules", config, custom_objects)
