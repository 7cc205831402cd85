"""Exponential moving averages of variables and tensors (TF: tf.train.ExponentialMovingAverage)."""

from __future__ import annotations

from itertools import count
from typing import Any

from penstock.client.initializers import zeros_initializer
from penstock.client.replicas import here
from penstock.client.variable import Variable
from penstock.client.variable_scope import get_variable, get_variable_scope, variable_scope
from penstock.client.variables import global_variables, moving_average_variables, trainable_variables
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import GraphKeys, control_dependencies, get_default_graph, name_scope
from penstock.ops.basic import group
from penstock.tensor.dtypes import bfloat16, float16, float32, float64
from penstock.train import slot_creator


@export("train.assign_moving_average")
def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """Move `variable` towards `value`: variable -= (1 - decay) * (variable - value).

    `zero_debias` corrects the average of a variable that started at zero for this bias (Kingma and Ba 2014), using two
    more variables.
    """
    if here.replica is not None:  # one update, with the mean of the replicas' values

        def update(strategy: Any, value: Any) -> Any:
            return assign_moving_average(
                variable, strategy.reduce_to("MEAN", value, variable), decay, zero_debias, name
            )

        return here.replica.merge_call(update, (value,))
    with (
        name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope,
        get_default_graph().colocate_with(variable.op),
    ):
        rest = convert_to_tensor(1.0 - decay, name="decay")
        if rest.dtype != variable.dtype.base_dtype:
            rest = get_op("Cast")(rest, DstT=variable.dtype.base_dtype)
        value = convert_to_tensor(value)
        if zero_debias:
            delta = _debiased_delta(variable, value, rest)
        else:
            delta = (convert_to_tensor(variable) - value) * rest
        return variable.assign_sub(delta, name=scope)


@export("train.weighted_moving_average")
def weighted_moving_average(
    value: Any, decay: Any, weight: Any, truediv: bool = True, collections: Any = None, name: str | None = None
) -> Tensor:
    """The moving average of `value * weight` divided by that of `weight`, after both have moved.

    Both averages are variables that start at zero, in `collections` (by default GLOBAL_VARIABLES). `weight` has the
    shape of `value`, or one that is broadcast to it. Source: TF's moving_averages.weighted_moving_average.
    """
    if collections is None:
        collections = [GraphKeys.GLOBAL_VARIABLES]
    with variable_scope(name, "WeightedMovingAvg", [value, weight, decay]):
        value, weight = convert_to_tensor(value, name="value"), convert_to_tensor(weight, name="weight")
        zeros, kept = zeros_initializer(), {"trainable": False, "collections": collections}
        values = get_variable("value_x_weight", value.shape, value.dtype, zeros, **kept)
        weights = get_variable("weight", weight.shape, weight.dtype, zeros, **kept)
        total = assign_moving_average(values, value * weight, decay, zero_debias=False)
        number = assign_moving_average(weights, weight, decay, zero_debias=False)
        return get_op("RealDiv" if truediv else "Div")(total, number)


def _debiased_delta(average: Any, value: Tensor, rest: Tensor) -> Tensor:
    """The amount to subtract so that the average becomes biased / (1 - decay ** steps)."""
    dtype = average.dtype.base_dtype
    with variable_scope(average.op.name, values=[average, value, rest]):
        zeros = zeros_initializer()
        biased = get_variable(_unique("biased"), average.shape, dtype, zeros, trainable=False)
        local_step = get_variable(_unique("local_step"), [], dtype, zeros, trainable=False)
        before = (convert_to_tensor(biased) - value) * rest
        updates = [biased.assign_sub(before, read_value=False), local_step.assign_add(1, read_value=False)]
        with control_dependencies(updates):
            bias = 1 - get_op("Pow")(1.0 - rest, local_step.read_value())
            return convert_to_tensor(average) - get_op("RealDiv")(biased.read_value(), bias)


def _unique(name: str) -> str:
    """The name, or `name_1` and so on, that no variable of the scope has yet; one that is reused keeps its name."""
    scope = get_variable_scope()
    if scope.reuse:
        return name
    taken = {variable.op.name for variable in scope.global_variables()}
    numbered = (f"{name}_{number}" if number else name for number in count())
    return next(each for each in numbered if f"{scope.name}/{each}" not in taken)


@export("train.ExponentialMovingAverage")
class ExponentialMovingAverage:
    """Keeps averages: average = decay * average + (1 - decay) * value, at each run of the operation that `apply`
    returns.

    num_updates: the number of updates; if given, the decay is at most (1 + num_updates) / (10 + num_updates), so that
    averages move faster at first. zero_debias: see `assign_moving_average`; only for tensors, because the average of a
    variable starts at its initial value.
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        return self._name

    def apply(self, var_list: Any = None) -> Operation:
        """An operation that updates the averages of `var_list` (by default all trainable variables), creating them if
        needed.

        Raises TypeError for what is not a float.
        """
        watched = trainable_variables() if var_list is None else list(var_list)
        debiased = set()
        for var in watched:
            if var.dtype.base_dtype not in (bfloat16, float16, float32, float64):
                raise TypeError(f"The variables must be half, float, or double: {var.name}")
            if var not in self._averages:
                self._averages[var] = self._create_average(var)
                if self._zero_debias and not isinstance(var, Variable):
                    debiased.add(var)
        with name_scope(self._name) as scope:
            decay = self._current_decay()
            updates = [
                assign_moving_average(self._averages[var], var, decay, zero_debias=var in debiased) for var in watched
            ]
            return group(*updates, name=scope)

    def _create_average(self, var: Any) -> Any:
        with control_dependencies(None):
            if isinstance(var, Variable):
                average = slot_creator.create_slot(var, var.initialized_value(), self._name)
                # Not the average itself: the collection has the variables that have averages.
                get_default_graph().add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, var)
                return average
            colocate = var.op.op_def.traits.holds == "variable"
            return slot_creator.create_zeros_slot(var, self._name, colocate_with_primary=colocate)

    def _current_decay(self) -> Tensor:
        decay = convert_to_tensor(self._decay, name="decay")
        if self._num_updates is None:
            return decay
        count = convert_to_tensor(self._num_updates)
        if count.dtype.base_dtype != float32:
            count = get_op("Cast")(count, DstT=float32)
        return get_op("Minimum")(decay, get_op("RealDiv")(1.0 + count, 10.0 + count))

    def average(self, var: Any) -> Any:
        """The variable that holds the average of `var`, or None."""
        return self._averages.get(var)

    def average_name(self, var: Any) -> str:
        """The name that this variable has or would have."""
        if var in self._averages:
            return self._averages[var].op.name
        return get_default_graph().unique_name(f"{var.op.name}/{self._name}", mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Any]:
        """The `var_list` of a `Saver` that restores averages into variables: from names in the file to variables.

        moving_avg_variables: those to restore averages into (by default all trainable ones and all that have averages).
        """
        if moving_avg_variables is None:
            moving_avg_variables = trainable_variables() + moving_average_variables()
        averaged = list(dict.fromkeys(moving_avg_variables))
        names = {self.average_name(var): var for var in averaged}
        taken = set(averaged)
        for var in dict.fromkeys(global_variables()):
            if var not in taken and var.op.name not in names:
                names[var.op.name] = var
        return names
