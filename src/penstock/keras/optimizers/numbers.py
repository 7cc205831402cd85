"""`Numbers`: what an optimizer has in variables of its own, as its rate and its count of steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.client.trackable import Trackable
from penstock.client.variable import Variable
from penstock.graph.operation import Tensor
from penstock.graph.scopes import control_dependencies, counted_as, get_default_graph, name_scope
from penstock.keras import backend as K
from penstock.keras.optimizers.schedules import classes as schedules

SCHEDULE = schedules.LearningRateSchedule
RATES = (Variable, Tensor, SCHEDULE)
"""What may be the rate as it is."""


class Numbers(Trackable):
    """Variables with a number each, which are in the graph of the first step, as TensorFlow's are."""

    _numbers: dict[str, Any] = {}  # noqa: RUF012  (for programs' classes that set `lr` before `Optimizer.__init__`)
    """Their values at first, by attribute."""
    _slotted: list[int]
    iterations: Any
    decay: Any
    _lr: Any

    def _number(self, attribute: str, value: Any) -> None:
        """Keep a number in a variable, as an attribute."""
        self._numbers[attribute] = value
        with name_scope(type(self).__name__):
            setattr(self, attribute, number_in_variable(value, attribute.strip("_")))

    def _come_along(self) -> None:
        """Make its numbers again in the default graph, if nothing was trained with those that are in another, as of an
        optimizer made before `K.clear_session`: TensorFlow makes them with the first step."""
        if not self._numbers or self._slotted:
            return
        graph, made_in = get_default_graph(), getattr(self, next(iter(self._numbers))).graph
        if graph is not made_in and not graph.takes_from(made_in):
            with control_dependencies(None), name_scope(None):
                for attribute, value in self._numbers.items():
                    self._number(attribute, value)

    @property
    def lr(self) -> Any:
        """The variable with the learning rate; assigning a number sets it; a variable, tensor or schedule takes its
        place."""
        self._come_along()
        return self._lr

    @lr.setter
    def lr(self, value: Any) -> None:
        if isinstance(value, RATES) or isinstance(vars(self).get("_lr"), SCHEDULE | None):
            self._numbers.pop("_lr", None)
            self._lr = value
        else:
            self._come_along()
            K.set_value(self._lr, value)
            if "_lr" in self._numbers:
                self._numbers["_lr"] = np.float32(value)

    learning_rate = lr


def number_in_variable(value: Any, name: str) -> Any:
    """State of an optimizer: a variable that is not trained."""
    with counted_as(0):  # TensorFlow makes it with the first step
        return Variable(value, trainable=False, name=name)
