"""Collections of variables: finding, initialising and checking them (TF: tf.global_variables, …)."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.convert import constant
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import GraphKeys, colocate_with, get_collection, name_scope
from penstock.ops.basic import group
from penstock.ops.gather import boolean_mask
from penstock.ops.state import is_variable_initialized


@export("global_variables")
def global_variables(scope: str | None = None) -> list[Any]:
    """The variables that all parts of a program share (TF: tf.global_variables).

    With `scope`, a regular expression, those whose names match it from the start.
    """
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


@export("all_variables")
def all_variables() -> list[Any]:
    """TF 0.x's name for `global_variables`."""
    return global_variables()


@export("local_variables")
def local_variables(scope: str | None = None) -> list[Any]:
    """The variables that are local to a process, e.g. counters of epochs; checkpoints leave them out."""
    return get_collection(GraphKeys.LOCAL_VARIABLES, scope)


@export("trainable_variables")
def trainable_variables(scope: str | None = None) -> list[Any]:
    """The variables that an optimizer changes by default."""
    return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


@export("model_variables")
def model_variables(scope: str | None = None) -> list[Any]:
    """The variables in the MODEL_VARIABLES collection."""
    return get_collection(GraphKeys.MODEL_VARIABLES, scope)


@export("moving_average_variables")
def moving_average_variables(scope: str | None = None) -> list[Any]:
    """The variables that have moving averages."""
    return get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


@export("variables_initializer", "initializers.variables")
def variables_initializer(var_list: Any, name: str = "init") -> Operation:
    """An operation that sets all of `var_list` to their initial values, in the order in which they were built."""
    return group(*[v.initializer for v in var_list or ()], name=name)


@export("global_variables_initializer", "initializers.global_variables")
def global_variables_initializer() -> Operation:
    """An operation that initialises the global variables that exist now."""
    return variables_initializer(global_variables())


@export("local_variables_initializer", "initializers.local_variables")
def local_variables_initializer() -> Operation:
    """An operation that initialises the local variables that exist now."""
    return variables_initializer(local_variables())


@export("initialize_variables")
def initialize_variables(var_list: Any, name: str = "init") -> Operation:
    """TF 0.x's name for `variables_initializer`."""
    return variables_initializer(var_list, name)


@export("initialize_all_variables")
def initialize_all_variables() -> Operation:
    """TF 0.x's name for `global_variables_initializer`."""
    return global_variables_initializer()


@export("initialize_local_variables")
def initialize_local_variables() -> Operation:
    """TF 0.x's name for `local_variables_initializer`."""
    return local_variables_initializer()


def _watched(var_list: Any) -> list[Any]:
    """`var_list`, or by default all global and local variables."""
    if var_list is not None:
        return list(var_list)
    return global_variables() + local_variables()


@export("report_uninitialized_variables")
def report_uninitialized_variables(var_list: Any = None, name: str = "report_uninitialized_variables") -> Tensor:
    """The names, a string vector, of those variables that have no value when it runs."""
    watched = _watched(var_list)
    with name_scope(name):
        if not watched:
            return constant(np.empty(0, object), "string")
        ready = get_op("Pack")([is_variable_initialized(v) for v in watched], name="stack")
        return boolean_mask(constant([v.op.name for v in watched]), get_op("LogicalNot")(ready))


@export("assert_variables_initialized")
def assert_variables_initialized(var_list: Any = None) -> Tensor | None:
    """A tensor whose computation fails unless all variables have values; None if there are no variables.

    `report_uninitialized_variables` says which have none.
    """
    watched = _watched(var_list)
    if not watched:
        return None
    ranks = []
    for variable in watched:
        with colocate_with(variable.op):
            ranks.append(get_op("Rank")(variable))
    return ranks[0] if len(ranks) == 1 else get_op("Pack")(ranks, name="stack")
