"""Argument scopes, variables of models, checkpoints (TF: tf.contrib.framework)."""

from penstock.api.namespace import open_namespace
from penstock.api.old_paths import add_module
from penstock.contrib.framework import arg_scopes, variables

_ops = add_module(f"{__name__}.python.ops", arg_scopes, variables)
add_module(f"{__name__}.python.ops.arg_scope", arg_scopes)
add_module(f"{__name__}.python.ops.variables", variables)
_ops.variables = variables  # type: ignore[attr-defined]

open_namespace(__name__)
