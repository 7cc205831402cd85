"""Values for variables from arrays and checkpoints (TF: tf.contrib.framework.assign_from_checkpoint_fn, …)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from penstock import logging
from penstock.checkpoint.reader import CheckpointReader
from penstock.contrib.framework.variables import get_unique_variable, get_variable_full_name
from penstock.export import export
from penstock.graph.operation import Operation
from penstock.ops.basic import group, placeholder
from penstock.train.saver import Saver

Assignment = tuple[Operation, dict[Any, np.ndarray]]


@export("contrib.framework.assign_from_values", "contrib.slim.assign_from_values")
def assign_from_values(var_names_to_values: Mapping[str, Any]) -> Assignment:
    """An operation that sets variables, given by name, to values, and the feeds that it needs.

    The values are not stored in the graph. Raises ValueError if there is no global variable of a name.
    """
    pairs = [(get_unique_variable(name), value) for name, value in var_names_to_values.items()]
    return _assign(pairs)


@export("contrib.framework.assign_from_values_fn", "contrib.slim.assign_from_values_fn")
def assign_from_values_fn(var_names_to_values: Mapping[str, Any]) -> Callable[[Any], Any]:
    """`assign_from_values` as a function of a session."""
    operation, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(operation, feeds)


def _assign(pairs: list[tuple[Any, Any]]) -> Assignment:
    operations, feeds = [], {}
    for variable, value in pairs:
        given = placeholder(variable.dtype.base_dtype, variable.shape, name=f"placeholder/{variable.op.name}")
        operations.append(variable.assign(given))
        feeds[given] = np.reshape(value, variable.shape.as_list())
    return group(*operations), feeds


@export("contrib.framework.assign_from_checkpoint", "contrib.slim.assign_from_checkpoint")
def assign_from_checkpoint(model_path: Any, var_list: Any, ignore_missing_vars: bool = False) -> Assignment:
    """An operation that sets variables to the values in a checkpoint, and the feeds that it needs.

    var_list: variables, or a dict from names in the checkpoint to variables or lists of them (parts of one). Raises
    ValueError for a missing name unless `ignore_missing_vars`, and for a different shape.
    """
    pairs = []
    with CheckpointReader(model_path) as reader:
        for name, variable in _by_name(var_list):
            if not reader.has_tensor(name):
                if not ignore_missing_vars:
                    raise ValueError(f"Checkpoint {model_path} is missing variable [{name}]")
                logging.warning("Checkpoint %s is missing variable [%s]", model_path, name)
                continue
            part = variable._get_save_slice_info()
            if part is not None:
                pairs.append((variable, reader.get_slice(name, part.var_offset, part.var_shape)))
                continue
            value = reader.array(name)
            if variable.shape.as_list() != list(value.shape):
                raise ValueError(f"{name} has shape {list(value.shape)} in {model_path}, its variable {variable.shape}")
            pairs.append((variable, value))
    return _assign(pairs)


def _by_name(var_list: Any) -> list[tuple[str, Any]]:
    if not isinstance(var_list, Mapping):
        return [(get_variable_full_name(variable), variable) for variable in var_list]
    items = [(name, v if isinstance(v, list | tuple) else [v]) for name, v in var_list.items()]
    return [(name, variable) for name, variables in items for variable in variables]


@export("contrib.framework.assign_from_checkpoint_fn", "contrib.slim.assign_from_checkpoint_fn")
def assign_from_checkpoint_fn(
    model_path: Any, var_list: Any, ignore_missing_vars: bool = False, reshape_variables: bool = False
) -> Callable[[Any], None] | None:
    """A function of a session that restores variables from a checkpoint.

    var_list: variables, or a dict from names in the checkpoint; raises ValueError for none. With `ignore_missing_vars`
    those that are not in the checkpoint are left out; returns None if nothing remains. `reshape_variables`: shapes may
    differ, numbers of elements not. TF: tf.contrib.framework.assign_from_checkpoint_fn.
    """
    if not var_list:
        raise ValueError("var_list cannot be empty")
    if ignore_missing_vars:
        with CheckpointReader(model_path) as reader:
            named = var_list if isinstance(var_list, Mapping) else {v.op.name: v for v in var_list}
            missing = [name for name in named if not reader.has_tensor(name)]
        for name in missing:
            logging.warning("Variable %s missing in checkpoint %s", name, model_path)
        var_list = {name: v for name, v in named.items() if name not in missing}
        if not var_list:
            logging.warning("No Variables to restore")
            return None
    saver = Saver(var_list, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)
