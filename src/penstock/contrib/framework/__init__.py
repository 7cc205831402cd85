"""Argument scopes, variables of models, checkpoints (TF: tf.contrib.framework)."""

from penstock.api.namespace import open_namespace
from penstock.api.old_paths import add_inner_paths, add_module
from penstock.contrib.framework import arg_scopes, assignments, variables
from penstock.inner import gen_ops

_ops = add_module(f"{__name__}.python.ops", arg_scopes, variables)
add_module(f"{__name__}.python.ops.arg_scope", arg_scopes)
_ops.variables = add_module(  # type: ignore[attr-defined]
    f"{__name__}.python.ops.variables", variables, assignments
)
add_module(f"{__name__}.python.ops.audio_ops", __getattr__=gen_ops.__getattr__)
add_inner_paths(
    __name__,
    "python.framework.checkpoint_utils python.framework.graph_util python.framework.tensor_util python.ops.ops "
    "python.ops.checkpoint_ops",
)

open_namespace(__name__)
