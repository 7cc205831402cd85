"""Variables of models: creating and finding them (TF: tf.contrib.framework.model_variable, get_variables, …)."""

from __future__ import annotations

import functools
import re
from contextlib import nullcontext
from typing import Any

from penstock.client.variable import Variable, VariableAggregation, VariableSynchronization
from penstock.client.variable_scope import VariableScope, get_variable, get_variable_scope
from penstock.contrib.framework.arg_scopes import add_arg_scope
from penstock.export import export
from penstock.graph.scopes import GraphKeys, add_to_collection, device as device_scope, get_collection
from penstock.train.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
)

__all__ = [
    "add_model_variable",
    "assert_global_step",
    "create_global_step",
    "filter_variables",
    "get_global_step",
    "get_local_variables",
    "get_model_variables",
    "get_or_create_global_step",
    "get_trainable_variables",
    "get_unique_variable",
    "get_variable_full_name",
    "get_variables",
    "get_variables_by_name",
    "get_variables_by_suffix",
    "get_variables_to_restore",
    "global_variable",
    "local_variable",
    "model_variable",
    "variable",
]


@export("contrib.framework.local_variable", "contrib.slim.local_variable")
def local_variable(
    initial_value: Any, validate_shape: bool = True, name: str | None = None, use_resource: bool | None = None
) -> Any:
    """A variable in LOCAL_VARIABLES, not trained (TF: tf.contrib.framework.local_variable)."""
    collections = [GraphKeys.LOCAL_VARIABLES]
    return Variable(initial_value, False, collections, validate_shape, name=name, use_resource=use_resource)


@export("contrib.framework.global_variable", "contrib.slim.global_variable")
def global_variable(
    initial_value: Any, validate_shape: bool = True, name: str | None = None, use_resource: bool | None = None
) -> Any:
    """A variable in GLOBAL_VARIABLES, not trained (TF: tf.contrib.framework.global_variable)."""
    collections = [GraphKeys.GLOBAL_VARIABLES]
    return Variable(initial_value, False, collections, validate_shape, name=name, use_resource=use_resource)


@export("contrib.framework.variable", "contrib.slim.variable")
@add_arg_scope
def variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Any = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    use_resource: bool | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """`tf.get_variable` on `device`, a name or a function; `arg_scope` can set its arguments.

    TF: tf.contrib.framework.variable. custom_getter: called instead of `get_variable`.
    """
    getter: Any = get_variable
    if custom_getter is not None:
        getter = functools.partial(custom_getter, reuse=get_variable_scope().reuse)
    with device_scope(device) if device else nullcontext():
        return getter(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=list(dict.fromkeys([GraphKeys.GLOBAL_VARIABLES] if collections is None else collections)),
            caching_device=caching_device,
            partitioner=partitioner,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )


@export("contrib.framework.model_variable", "contrib.slim.model_variable")
@add_arg_scope
def model_variable(
    name: str,
    shape: Any = None,
    dtype: Any = "float32",
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Any = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    use_resource: bool | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """Like `variable`, and also in MODEL_VARIABLES (TF: tf.contrib.framework.model_variable).

    All arguments are given on, also those left out: an `arg_scope` for `variable` alone sets none of them.
    """
    return variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=[*(collections or []), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES],
        caching_device=caching_device,
        device=device,
        partitioner=partitioner,
        custom_getter=custom_getter,
        use_resource=use_resource,
        synchronization=synchronization,
        aggregation=aggregation,
    )


@export("contrib.framework.add_model_variable", "contrib.slim.add_model_variable")
def add_model_variable(var: Any) -> None:
    """Add `var` to MODEL_VARIABLES, if it is not in it."""
    if var not in get_collection(GraphKeys.MODEL_VARIABLES):
        add_to_collection(GraphKeys.MODEL_VARIABLES, var)


# --- finding them ---------------------------------------------------------------------------------------


@export("contrib.framework.get_variables", "contrib.slim.get_variables")
def get_variables(
    scope: Any = None, suffix: str | None = None, collection: Any = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """The variables of a collection in `scope` (a VariableScope, or a regular expression) that end in `suffix`.

    TF: tf.contrib.framework.get_variables.
    """
    if isinstance(scope, VariableScope):
        scope = scope.name
    if suffix is not None:
        scope = f"{scope or ''}.*{suffix}" + ("" if ":" in suffix else ":")
    return get_collection(collection, scope)


@export("contrib.framework.get_model_variables", "contrib.slim.get_model_variables")
def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """`get_variables` of MODEL_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


@export("contrib.framework.get_local_variables", "contrib.slim.get_local_variables")
def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """`get_variables` of LOCAL_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


@export("contrib.framework.get_trainable_variables", "contrib.slim.get_trainable_variables")
def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """`get_variables` of TRAINABLE_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


@export("contrib.framework.get_variables_by_suffix", "contrib.slim.get_variables_by_suffix")
def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    """The global variables whose names end in `suffix`."""
    return get_variables(scope, suffix)


@export("contrib.framework.get_variables_by_name", "contrib.slim.get_variables_by_name")
def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """The global variables whose names, without their scopes, are `given_name`."""
    return [v for v in get_variables(scope) if f"/{v.op.name}".endswith(f"/{given_name}")]


@export("contrib.framework.get_unique_variable", "contrib.slim.get_unique_variable")
def get_unique_variable(var_op_name: str) -> Any:
    """The global variable with this full name; raises ValueError if there is none."""
    for found in get_variables(re.escape(var_op_name)):
        if found.op.name == var_op_name:
            return found
    raise ValueError(f"Couldn't find variable {var_op_name}")


@export("contrib.framework.get_variables_to_restore", "contrib.slim.get_variables_to_restore")
def get_variables_to_restore(include: Any = None, exclude: Any = None) -> list[Any]:
    """The global variables in the scopes `include` (None: all) and in none of `exclude`.

    Raises TypeError for what is not a list. TF: tf.contrib.framework.get_variables_to_restore.
    """
    for name, scopes in (("include", include), ("exclude", exclude)):
        if scopes is not None and not isinstance(scopes, list | tuple):
            raise TypeError(f"{name} must be a list or a tuple of scopes, got {scopes!r}")
    wanted = get_variables() if include is None else [v for scope in include for v in get_variables(scope)]
    left_out = {v for scope in exclude or () for v in get_variables(scope)}
    return [v for v in wanted if v not in left_out]


@export("contrib.framework.filter_variables", "contrib.slim.filter_variables")
def filter_variables(
    var_list: Any, include_patterns: Any = None, exclude_patterns: Any = None, reg_search: bool = True
) -> list[Any]:
    """The variables whose names match one of `include_patterns` (None: all) and none of `exclude_patterns`.

    The patterns are regular expressions, searched anywhere with `reg_search`, otherwise matched at the start.
    """
    found = re.search if reg_search else re.match

    def fits(v: Any, patterns: Any) -> bool:
        return any(found(pattern, v.name) for pattern in patterns)

    kept = [v for v in var_list if not include_patterns or fits(v, include_patterns)]
    return [v for v in kept if not fits(v, exclude_patterns or ())]


@export("contrib.framework.get_variable_full_name", "contrib.slim.get_variable_full_name")
def get_variable_full_name(var: Any) -> str:
    """Its name in a checkpoint: for a part of a partitioned variable, that of the whole."""
    info = var._get_save_slice_info() if isinstance(var, Variable) else None
    return info.full_name if info is not None else var.op.name
