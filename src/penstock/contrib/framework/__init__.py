"""Argument scopes, variables of models, checkpoints (TF: tf.contrib.framework)."""

from penstock.api.namespace import open_namespace
from penstock.api.old_paths import add_module
from penstock.contrib.framework import arg_scopes, assignments, variables

_ops = add_module(f"{__name__}.python.ops", arg_scopes, variables)
add_module(f"{__name__}.python.ops.arg_scope", arg_scopes)
_ops.variables = add_module(  # type: ignore[attr-defined]
    f"{__name__}.python.ops.variables", variables, assignments
)

open_namespace(__name__)
