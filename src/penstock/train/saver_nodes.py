"""The nodes of a `Saver`: variables feed a Save node, a Restore node feeds assignments (section 3.3)."""

from __future__ import annotations

from typing import Any

from tensorboard.compat.proto import saver_pb2

from penstock import errors
from penstock.checkpoint.reader import CheckpointReader
from penstock.client.saveables import SaveableObject, SaveSpec
from penstock.graph.constants import constant_value
from penstock.graph.convert import constant
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import control_dependencies, get_default_graph, name_scope
from penstock.ops.basic import group, identity, placeholder_with_default
from penstock.ops.checkpoint import RESTORE_V2, SAVE_V2
from penstock.tensor.dtypes import as_dtype
from penstock.tensor.shapes import TensorShape


def build_saver_nodes(
    saveables: list[Any], name: str | None, reshape: bool, filename: str | None, restore_sequentially: bool
) -> Any:
    """Add Save and Restore nodes to the default graph; returns the SaverDef that names them."""
    with name_scope(name, "save", [s.op for s in saveables if isinstance(s.op, Operation | Tensor)]):
        default = constant(filename or "model", name="filename/input")
        path = placeholder_with_default(default, shape=(), name="filename")
        path = placeholder_with_default(path, shape=(), name="Const")
        specs = [_specs(saveable) for saveable in saveables]
        flat = [spec for group_ in specs for spec in group_]
        names, slices = [spec.name for spec in flat], [spec.slice_spec for spec in flat]
        saved = SAVE_V2(path, *_keys("SaveV2", names, slices), [spec.tensor for spec in flat])
        with control_dependencies([saved]), get_default_graph().colocate_with(path):
            done = identity(path, name="control_dependency")
        restored = _restore(path, saveables, specs, reshape, restore_sequentially)
    return saver_pb2.SaverDef(
        filename_tensor_name=path.name,
        save_tensor_name=done.name,
        restore_op_name=restored.name,
        version=saver_pb2.SaverDef.V2,
    )


def _specs(saveable: Any) -> list[SaveSpec]:
    if isinstance(saveable, SaveableObject):
        return saveable.specs
    return [SaveSpec(saveable.saved, saveable.slice_spec, saveable.name)]


def _keys(scope: str, names: list[str], slices: list[str]) -> tuple[Tensor, Tensor]:
    return constant(names, name=f"{scope}/tensor_names"), constant(slices, name=f"{scope}/shape_and_slices")


def _restore(
    path: Tensor, saveables: list[Any], specs: list[list[SaveSpec]], reshape: bool, sequentially: bool
) -> Operation:
    """One Restore node, so that all values are read and verified before the first variable changes."""
    flat = [spec for group_ in specs for spec in group_]
    with get_default_graph().device("/device:CPU:0"):
        keys = _keys("RestoreV2", [spec.name for spec in flat], [spec.slice_spec for spec in flat])
        tensors = RESTORE_V2(path, *keys, dtypes=[spec.dtype for spec in flat])
    assignments: list[Operation] = []
    for saveable, own in zip(saveables, specs, strict=True):
        with control_dependencies(assignments[-1:] if sequentially else []):
            mine, tensors = tensors[: len(own)], tensors[len(own) :]
            if isinstance(saveable, SaveableObject):
                assignments.append(saveable.restore(mine, None))
            else:
                assignments.append(saveable.restore(mine[0], reshape))
    return group(*assignments, name="restore_all")


# --- checks before a restore changes anything -------------------------------------------


def check_restorable(graph: Graph, restore_op_name: str, prefix: str) -> None:
    """Check that the checkpoint has what the Restore nodes under `restore_op_name` read.

    A step that fails in the middle would leave some variables restored and others not. Raises NotFoundError naming
    missing tensors, InvalidArgumentError naming those with a different dtype or shape, with both.
    """
    wanted = _wanted(graph, restore_op_name)
    with CheckpointReader(prefix) as reader:
        shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    missing = sorted({name for name, _, _, _ in wanted if name not in shapes})
    if missing:
        raise errors.NotFoundError(
            None,
            None,
            f"Restoring from checkpoint failed: Key {missing[0]} not found in checkpoint {prefix}"
            + (f" (nor {', '.join(missing[1:])})" if missing[1:] else "")
            + ". The graph has variables that the checkpoint does not; restore the others with "
            "tf.train.Saver(var_list).",
        )
    problems = []
    for name, dtype, shape, variable in wanted:
        have = as_dtype(dtypes[name])
        if have != dtype:
            problems.append(f"variable {variable} is {dtype.name}, tensor {name} is {have.name}")
        elif shape is not None and not shape.is_compatible_with(shapes[name]):
            problems.append(f"variable {variable} has shape {shape}, tensor {name} has {TensorShape(shapes[name])}")
    if problems:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Restoring from checkpoint {prefix} failed: {'; '.join(problems)}",
        )


def _wanted(graph: Graph, restore_op_name: str) -> list[tuple[str, Any, TensorShape | None, str]]:
    """`(tensor name, dtype, shape or None, variable)` for each assignment that a Restore node feeds."""
    found = []
    for operation in _controls_of(graph.get_operation_by_name(restore_op_name)):
        if not operation.op_def.traits.assigns:
            continue
        target, source = operation.inputs
        whole = True
        while source.op.type in ("Identity", "Reshape"):
            whole = whole and source.op.type == "Identity"
            source = source.op.inputs[0]
        names = constant_value(source.op.inputs[1]) if source.op.type == "RestoreV2" else None
        slices = constant_value(source.op.inputs[2]) if source.op.type == "RestoreV2" else None
        if names is None or slices is None:
            continue
        at = source.value_index
        shape = target.shape if operation.type == "Assign" else target.op.attrs.get("shape")
        checks_shape = whole and operation.get_attr("validate_shape") and not slices[at]
        found.append((names[at].decode(), source.dtype, shape if checks_shape else None, target.op.name))
    return found


def _controls_of(operation: Operation) -> list[Operation]:
    """Everything that `operation` waits for, through nested groups."""
    found, waiting = [], [operation]
    while waiting:
        for control in waiting.pop().control_inputs:
            found.append(control)
            if control.type == "NoOp":
                waiting.append(control)
    return found
