"""Argument scopes, variables of models, checkpoints (TF: tf.contrib.framework)."""

from __future__ import annotations

from penstock import absent as _absent, nest as nest
from penstock.contrib.framework import arg_scopes, variables as variables
from penstock.contrib.framework.arg_scopes import (
    add_arg_scope as add_arg_scope,
    arg_scope as arg_scope,
    arg_scope_func_key as arg_scope_func_key,
    arg_scoped_arguments as arg_scoped_arguments,
    current_arg_scope as current_arg_scope,
    has_arg_scope as has_arg_scope,
)
from penstock.contrib.framework.assignments import (
    assign_from_checkpoint as assign_from_checkpoint,
    assign_from_checkpoint_fn as assign_from_checkpoint_fn,
    assign_from_values as assign_from_values,
    assign_from_values_fn as assign_from_values_fn,
)
from penstock.contrib.framework.checks import (
    deprecated as deprecated,
    get_name_scope as get_name_scope,
    get_placeholders as get_placeholders,
    is_tensor as is_tensor,
    with_same_shape as with_same_shape,
    with_shape as with_shape,
)
from penstock.contrib.framework.variables import (
    add_model_variable as add_model_variable,
    assert_global_step as assert_global_step,
    create_global_step as create_global_step,
    filter_variables as filter_variables,
    get_global_step as get_global_step,
    get_local_variables as get_local_variables,
    get_model_variables as get_model_variables,
    get_or_create_global_step as get_or_create_global_step,
    get_trainable_variables as get_trainable_variables,
    get_unique_variable as get_unique_variable,
    get_variable_full_name as get_variable_full_name,
    get_variables as get_variables,
    get_variables_by_name as get_variables_by_name,
    get_variables_by_suffix as get_variables_by_suffix,
    get_variables_to_restore as get_variables_to_restore,
    global_variable as global_variable,
    local_variable as local_variable,
    model_variable as model_variable,
    variable as variable,
)
from penstock.old_paths import add_module
from penstock.ops.shape_checks import (
    assert_same_float_dtype as assert_same_float_dtype,
    assert_scalar as assert_scalar,
)
from penstock.train.checkpoint_utils import (
    init_from_checkpoint as init_from_checkpoint,
    list_variables as list_variables,
    load_checkpoint as load_checkpoint,
    load_variable as load_variable,
)

_ops = add_module(f"{__name__}.python.ops", arg_scopes, variables)
add_module(f"{__name__}.python.ops.arg_scope", arg_scopes)
add_module(f"{__name__}.python.ops.variables", variables)
_ops.variables = variables  # type: ignore[attr-defined]

_absent.tell_in(__name__)
