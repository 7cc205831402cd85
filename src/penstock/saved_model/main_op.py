"""The step that a loaded model is initialised with (TF: tf.saved_model.main_op)."""

from __future__ import annotations

from typing import Any

from penstock.client.lookup_tables import tables_initializer
from penstock.client.variables import global_variables_initializer, local_variables_initializer
from penstock.export import export
from penstock.graph.operation import Operation
from penstock.graph.scopes import control_dependencies
from penstock.ops.basic import group


def main_op() -> Operation:
    """Initialises everything: variables, local variables and tables."""
    return group(global_variables_initializer(), local_variables_initializer(), tables_initializer())


@export("saved_model.main_op_with_restore")
def main_op_with_restore(restore_op_name: Any) -> Operation:
    """`main_op`, and then `restore_op_name`."""
    with control_dependencies([main_op()]):
        restored = group(restore_op_name)
    return restored
