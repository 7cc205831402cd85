"""Keras' optimizers: what they share, and optimizers of tf.train as such (TF: tf.keras.optimizers).

Where an update is one of TensorFlow's training ops, that op is the update: one kernel for each weight.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from penstock.api.namespace import names_in
from penstock.client.replicas import here, scaled_by_replicas
from penstock.client.resource_variable import ResourceVariable
from penstock.client.trackable import Constant, TrackableReference
from penstock.client.variable import Variable
from penstock.export import export
from penstock.gradients.gradients import gradients
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.keras import backend as K
from penstock.keras.named import described, from_description
from penstock.keras.nested import flat
from penstock.keras.optimizers.numbers import RATES, SCHEDULE, Numbers, number_in_variable
from penstock.keras.optimizers.schedules import classes as schedules
from penstock.ops.basic import group
from penstock.ops.cast import cast
from penstock.ops.clip import clip_by_norm, clip_by_value
from penstock.train import optimizer as train_optimizer


@export("keras.optimizers.Optimizer")
class Optimizer(Numbers):
    """Makes the nodes of a training step. Subclasses define `_slots` and `_update`; those of programs define
    `get_updates` and `get_config`, and make their variables themselves, `lr` and `iterations` among them.

    Defaults, formulas and the order of the state are those of TensorFlow 1.15's classes (`optimizer_v2`), which take
    `lr`, `decay`, `clipnorm` and `clipvalue` by name only.
    clipnorm: gradients are scaled down to this norm, each by itself. clipvalue: their elements are kept within ± this.
    """

    _has_own_slots = True
    _untracked = frozenset({"_of", "_constants", "_numbers", "updates"})
    _slots: tuple[str, ...] = ()
    """What it keeps for each weight, in the order of files."""
    _counts_first = True
    """Whether files begin with the number of steps."""
    _hypers: tuple[str, ...] = ("name", "learning_rate", "decay")
    """The arguments, as `get_config` has them."""
    _saved_hypers: tuple[str, ...] = ("decay", "learning_rate")
    """What TensorFlow has in variables, which checkpoints of objects hold."""
    _saved_slots: Mapping[str, str] = {}
    """What TensorFlow calls slots, where it has another name."""

    def __init__(self, lr: float | None = None, decay: float = 0.0, **kwargs: Any) -> None:
        lr = kwargs.pop("learning_rate", lr)
        unknown = set(kwargs) - {"clipnorm", "clipvalue", "name"}
        if unknown:
            raise TypeError(f"Unexpected keyword argument passed to optimizer: {', '.join(sorted(unknown))}")
        self._name = kwargs.pop("name", None) or type(self).__name__
        for name, value in kwargs.items():
            if value is not None and value < 0:
                raise ValueError(f"Expected {name} >= 0, received: {value}")
        vars(self).update(kwargs)
        self.weights: list[Any] = []
        self._of: dict[str, list[Any]] = {}
        self._slotted: list[int] = []
        self.updates: list[Any] = []
        self._numbers = {}
        if lr is None:
            return
        self.initial_decay = decay
        self._number("iterations", np.int64(0))
        if isinstance(lr, dict):
            lr = schedules.deserialize(lr)
        if callable(lr) and not isinstance(lr, SCHEDULE):
            lr = lr()
        if isinstance(lr, RATES):
            self._lr = lr
        else:
            self._number("_lr", np.float32(lr))
        self._number("decay", np.float32(decay))

    # --- for subclasses ---------------------------------------------------------------------------------

    def _update(self, p: Any, g: Tensor, rate: Tensor, t: Tensor, slots: Any) -> Any:
        """Nodes that change the weight `p` in step `t` (1, 2, …), and the slots."""
        raise NotImplementedError

    def _slot(self, name: str, p: Any) -> Any:
        first = np.full(p.shape.as_list(), self._begin(name), p.dtype.base_dtype.as_numpy_dtype)
        resource = isinstance(p, ResourceVariable)  # training ops take variables of one kind
        return Variable(first, trainable=False, name=f"{name}_{p.op.name}", use_resource=resource)

    def _begin(self, name: str) -> float:
        """What the elements of a slot are at first."""
        return 0.0

    # --- what models use --------------------------------------------------------------------------------

    def get_gradients(self, loss: Any, params: list[Any]) -> list[Any]:
        """The gradients, clipped. Raises ValueError if the loss does not depend on one of the weights."""
        grads = gradients(loss, params, gate_gradients=True)
        for param, grad in zip(params, grads, strict=True):
            if grad is None:
                raise ValueError(
                    f"An operation has `None` for gradient with respect to {param.name}: the loss does not depend on "
                    "it, or only through ops without a gradient (K.argmax, K.round, K.eval)."
                )
        return self._clipped([convert_to_tensor(grad) for grad in grads])

    def get_updates(self, loss: Any, params: list[Any]) -> list[Any]:
        """The nodes of a training step for these weights; of all replicas together, if it is called in each."""
        self._come_along()
        grads = self.get_gradients(scaled_by_replicas(loss), params)
        if here.replica is not None:

            def together(strategy: Any, pairs: Any) -> list[Any]:
                return self._updates([grad for grad, _ in strategy.reduce_gradients(pairs)], params)

            merged: list[Any] = here.replica.merge_call(together, (list(zip(grads, params, strict=True)),))
            return merged
        return self._updates(grads, params)

    def minimize(self, loss: Any, var_list: Any, grad_loss: Any = None, name: str | None = None) -> Operation:
        """A step of training, for graphs without Keras: gradients of a loss, or of what it returns, clipped, then
        `apply_gradients`. var_list: the variables, or a function that returns them."""
        params = flat(var_list() if callable(var_list) else var_list)
        grads = gradients(loss() if callable(loss) else loss, params, grad_ys=grad_loss)
        found = [
            (convert_to_tensor(grad), param) for grad, param in zip(grads, params, strict=True) if grad is not None
        ]
        clipped = iter(self._clipped([grad for grad, _ in found]))
        pairs = [(None if grad is None else next(clipped), p) for grad, p in zip(grads, params, strict=True)]
        return self.apply_gradients(pairs, name=name)

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Any]], name: str | None = None) -> Operation:
        """An operation that changes each variable by its gradient, and counts the step.

        Variables whose gradient is None stay as they are. Raises ValueError if all are.
        """
        pairs = list(grads_and_vars)
        found = [(convert_to_tensor(grad), param) for grad, param in pairs if grad is not None]
        if not found:
            names = [param.name for _, param in pairs]
            raise ValueError(f"No gradients provided for any variable: {names}.")
        self._come_along()
        with name_scope(name, type(self).__name__):
            return group(*self._updates([grad for grad, _ in found], [param for _, param in found]))

    def variables(self) -> list[Any]:
        """What it keeps: the number of steps, and its slots."""
        return [self.iterations, *(weight for weight in self.weights if weight is not self.iterations)]

    def _clipped(self, grads: list[Tensor]) -> list[Tensor]:
        clips = self._clips()
        if clips.get("clipnorm"):
            grads = self._clipped_to_norm(grads, clips["clipnorm"])
        if clips.get("clipvalue"):
            grads = [clip_by_value(grad, -clips["clipvalue"], clips["clipvalue"]) for grad in grads]
        return grads

    def _clipped_to_norm(self, grads: list[Tensor], norm: float) -> list[Tensor]:
        return [clip_by_norm(grad, norm) for grad in grads]

    def _updates(self, grads: list[Any], params: list[Any]) -> list[Any]:
        self.make_slots(params)
        places = [self._slotted.index(id(param)) for param in params]
        lr = self._lr
        rate = convert_to_tensor(lr(self.iterations.value()) if isinstance(lr, SCHEDULE) else lr)
        if self.initial_decay > 0:
            rate = rate * (1.0 / (1.0 + self.decay.value() * cast(self.iterations.value(), "float32")))
        t = cast(self.iterations.value() + 1, "float32")
        self.updates = []
        for i, param, grad in zip(places, params, grads, strict=True):
            slots = {name: of_name[i] for name, of_name in self._of.items()}
            updated = flat(self._update(param, grad, rate, t, slots))
            constraint = getattr(param, "constraint", None)
            if constraint is not None:
                with control_dependencies(updated):
                    updated.append(param.assign(constraint(param.read_value())))
            self.updates += updated
        # On several devices a step that fails, as at the end of input, could count all the same.
        with control_dependencies(self.updates if here.strategy is not None else []):
            self.updates.append(self.iterations.assign_add(1, read_value=False))
        return self.updates

    def make_slots(self, params: list[Any]) -> None:
        """Create what is kept for each weight, once."""
        if self._makes_updates():
            return
        self._come_along()
        new = [param for param in params if id(param) not in self._slotted]
        with control_dependencies(None), name_scope(f"training/{type(self).__name__}"):
            made = {name: [self._slot(name, p) for p in new] for name in self._stored_slots()}
        slots = [slot for of_name in made.values() for slot in of_name]
        if not self._slotted:
            self.weights = [self.iterations, *self._own()] if self._counts_first else []
        self.weights += slots
        self._slotted += map(id, new)
        self._of = {name: [*self._of.get(name, ()), *made[name]] for name in made}

    def _own(self) -> list[Any]:
        """State of the optimizer itself."""
        return []

    # --- checkpoints of objects -------------------------------------------------------------------------

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """The number of steps and the settings; slots are saved beside their variables."""
        if self._makes_updates():
            return super()._checkpoint_dependencies
        found = [TrackableReference("iter", self.iterations)]
        saved = [name for name in self._saved_hypers if not isinstance(getattr(self, name), SCHEDULE)]
        return found + [TrackableReference(name, self._setting(name)) for name in saved]

    def _setting(self, name: str) -> Any:
        value = getattr(self, name)
        if isinstance(value, int | float):
            value = self.__dict__.setdefault("_constants", {}).setdefault(
                (name, value), Constant(float(value), f"{type(self).__name__}/{name}")
            )
        return value

    def get_slot_names(self) -> list[str]:
        """The names that TensorFlow gives to what is kept for each weight."""
        return [self._saved_slots.get(name, name) for name in self._kept_slots()]

    def get_slot(self, var: Any, slot_name: str) -> Any:
        """What is kept for a weight, under one of these names, or None."""
        for name in self._kept_slots():
            if self._saved_slots.get(name, name) == slot_name and id(var) in self._slotted:
                return self._of[name][self._slotted.index(id(var))]
        return None

    def _kept_slots(self) -> tuple[str, ...]:
        """Those that the settings make use of."""
        return self._slots

    def _stored_slots(self) -> tuple[str, ...]:
        """Those that there are, and files have."""
        return self._kept_slots()

    # --- state ------------------------------------------------------------------------------------------

    def get_weights(self) -> list[np.ndarray]:
        """The state: arrays for `set_weights`."""
        return K.batch_get_value(self.weights)

    def set_weights(self, weights: Any) -> None:
        """Set the state, which may be one of Keras's classes before these. Raises ValueError if the number of
        arrays or a shape is different."""
        weights = self._as_now(list(weights))
        if len(weights) != len(self.weights):
            raise ValueError(f"The optimizer's state has {len(self.weights)} arrays, but {len(weights)} were given.")
        for variable, value in zip(self.weights, weights, strict=True):
            if tuple(variable.shape.as_list()) != np.shape(value):
                raise ValueError(f"Optimizer weight shape {variable.shape} not compatible with {np.shape(value)}")
        K.batch_set_value(list(zip(self.weights, weights, strict=True)))

    def _as_now(self, weights: list[Any]) -> list[Any]:
        """State of the classes before, of which some did not count steps, and some kept what they made no use of."""
        count = len(self.weights)
        if len(weights) == count - 1 and np.ndim(weights[0]) and self.weights[0] is self.iterations:
            return [np.array(0), *weights]
        more = len(self._slots) - len(self._stored_slots())
        return weights[:count] if more and len(weights) == count + more * len(self._slotted) else weights

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal optimizer."""
        own = () if self._makes_updates() else self._hypers
        return {**{name: self._value(name) for name in own}, **self._clips()}

    def _clips(self) -> dict[str, float]:
        return {name: vars(self)[name] for name in ("clipnorm", "clipvalue") if vars(self).get(name) is not None}

    def _makes_updates(self) -> bool:
        """Whether a program's class makes its nodes itself, and what it keeps for the weights with them."""
        return type(self).get_updates is not Optimizer.get_updates

    def _value(self, name: str) -> Any:
        value = self._name if name == "name" else getattr(self, name)
        if isinstance(value, SCHEDULE):
            return schedules.serialize(value)
        return float(K.get_value(value)) if hasattr(value, "initializer") else value

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        return cls(**config)


def updates_of(optimizer: Any, loss: Any, params: list[Any]) -> list[Any]:
    """`get_updates`, whose arguments a program's class may have in the order of Keras 2.0, `(params, loss)`, or of
    Keras 1, `(params, constraints, loss)`: constraints by weight."""
    named: dict[str, Any] = {"loss": loss, "params": params}
    if "constraints" in inspect.signature(optimizer.get_updates).parameters:
        found = {param: getattr(param, "constraint", None) for param in params}
        named["constraints"] = {param: constraint for param, constraint in found.items() if constraint is not None}
    made: list[Any] = optimizer.get_updates(**named)
    return made


def apply_op(op: str, p: Any, slots: dict[str, Any], **inputs: Any) -> Any:
    """One of TensorFlow's training ops, for a weight and its slots."""
    of_resource = isinstance(p, ResourceVariable)
    states = {"var": p, **slots}
    handles = {name: getattr(v, "handle", v) for name, v in states.items()} if of_resource else states
    values = {name: cast(value, p.dtype.base_dtype) for name, value in inputs.items()}
    updated = get_op(f"Resource{op}" if of_resource else op)(**handles, **values)
    return updated.op if isinstance(updated, Tensor) else updated


class TFOptimizer:
    """An optimizer of tf.train in a Keras model. It has no description: files with it hold no optimizer."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer
        with name_scope("TFOptimizer"):
            self.iterations = number_in_variable(np.int64(0), "iterations")
        self.updates: list[Any] = []

    @property
    def weights(self) -> list[Any]:
        return list(self.optimizer.variables())

    @property
    def lr(self) -> Any:
        """The learning rate that the optimizer was made with."""
        return getattr(self.optimizer, "_learning_rate", getattr(self.optimizer, "_lr", None))

    def make_slots(self, params: list[Any]) -> None:
        """The optimizer makes its own with its updates."""

    def get_gradients(self, loss: Any, params: list[Any]) -> list[Any]:
        return gradients(loss, params)

    def get_updates(self, loss: Any, params: list[Any]) -> list[Any]:
        pairs = self.optimizer.compute_gradients(loss, params)
        self.updates = [self.optimizer.apply_gradients(pairs, global_step=self.iterations)]
        return self.updates

    def get_weights(self) -> list[np.ndarray]:
        return K.batch_get_value(self.weights)

    def get_config(self) -> dict[str, Any]:
        raise NotImplementedError("Optimizers of tf.train have no description; use one of tf.keras.optimizers.")


@export("keras.optimizers.get")
def get(identifier: Any) -> Any:
    """The optimizer that a name or description stands for; one of tf.train is wrapped."""
    if isinstance(identifier, train_optimizer.Optimizer):
        return TFOptimizer(identifier)
    if isinstance(identifier, Optimizer | TFOptimizer):
        return identifier
    if isinstance(identifier, str):
        identifier = {"class_name": identifier, "config": {}}
    if isinstance(identifier, dict):
        return deserialize(identifier)
    raise ValueError(f"Could not interpret optimizer identifier: {identifier}")


@export("keras.optimizers.deserialize")
def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The optimizer that plain data describes; names of classes may be in lower case."""
    known = {name.lower(): name for name in names_in("penstock.keras.optimizers") if name[0].isupper()}
    name = config["class_name"]
    return from_description("optimizers", {**config, "class_name": known.get(name.lower(), name)}, custom_objects)


@export("keras.optimizers.serialize")
def serialize(optimizer: Any) -> Any:
    """Plain data from which the optimizer can be made again, without its state."""
    return described(optimizer)
