"""Optimizers of Keras as a package of its own: other defaults, one norm of all gradients, another order of the state.

Facts from Keras 2.2.5 (`keras.optimizers`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from penstock.client.variable import Variable
from penstock.keras.optimizers import classes
from penstock.keras.optimizers.base import Optimizer
from penstock.ops.add_n import add_n
from penstock.ops.arithmetic import maximum
from penstock.ops.reduce import reduce_sum
from penstock.ops.unary import sqrt, square

_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "SGD": ("lr", "momentum", "decay", "nesterov"),
    "RMSprop": ("lr", "rho", "epsilon", "decay"),
    "Adagrad": ("lr", "epsilon", "decay"),
    "Adadelta": ("lr", "rho", "epsilon", "decay"),
    "Adam": ("lr", "beta_1", "beta_2", "epsilon", "decay", "amsgrad"),
    "Adamax": ("lr", "beta_1", "beta_2", "epsilon", "decay"),
    "Nadam": ("lr", "beta_1", "beta_2", "epsilon", "schedule_decay"),
}
"""The arguments in their order, which descriptions have as well."""
_DEFAULTS: dict[str, Mapping[str, Any]] = {
    "Adagrad": {"lr": 0.01, "initial_accumulator_value": 0.0},
    "Adadelta": {"lr": 1.0},
    "Adamax": {"lr": 0.002},
    "Nadam": {"lr": 0.002},
}
_NOT_COUNTED = ("RMSprop", "Adagrad", "Adadelta")
"""Those whose files do not begin with the number of steps."""
_STORED = {"SGD": ("moment",), "Adam": ("m", "v", "vhat")}
"""What is in files without regard to the settings."""


def take_defaults() -> None:
    """Keras's optimizers have the arguments, the state and the clipping of Keras 2.2."""
    patched: Any = Optimizer
    patched._clipped_to_norm = _clipped_together
    for name, arguments in _ARGUMENTS.items():
        kind: Any = getattr(classes, name)
        kind.__init__ = _made(kind.__init__, arguments, _DEFAULTS.get(name, {}))
        kind._hypers = arguments
        kind._counts_first = name not in _NOT_COUNTED
        if name in _STORED:
            kind._stored_slots = _stored(_STORED[name])
    nadam: Any = classes.Nadam
    nadam._own = lambda optimizer: []
    adam: Any = classes.Adam
    adam._slot = _slot_of_adam(adam._slot)


def _made(make: Any, names: tuple[str, ...], defaults: Mapping[str, Any]) -> Any:
    @functools.wraps(make)
    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        given = dict(zip(names, args, strict=False))
        twice = given.keys() & kwargs.keys()
        if len(args) > len(names) or twice:
            raise TypeError(f"{type(self).__name__}() takes {', '.join(names)}, each once")
        options = {**given, **kwargs}
        if "learning_rate" in options:
            options["lr"] = options.pop("learning_rate")
        make(self, **{**defaults, **options})

    return made


def _stored(names: tuple[str, ...]) -> Any:
    return lambda optimizer: names


def _slot_of_adam(slot: Any) -> Any:
    @functools.wraps(slot)
    def made(self: Any, name: str, p: Any) -> Any:
        if name == "vhat" and not self.amsgrad:  # files have a zero here
            return Variable([0.0], trainable=False, name=f"vhat_{p.op.name}")
        return slot(self, name, p)

    return made


def _clipped_together(optimizer: Any, grads: list[Any], norm: float) -> list[Any]:
    """Gradients scaled down so that the norm of all of them together is at most `norm`."""
    whole = sqrt(add_n([reduce_sum(square(grad)) for grad in grads]))
    return [grad * (norm / maximum(whole, norm)) for grad in grads]
