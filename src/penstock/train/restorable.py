"""Checks before a restore changes anything: whether a checkpoint has what the nodes of a `Saver` read."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock import errors, logging
from penstock.checkpoint.index import Entry
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.values import numpy_dtype
from penstock.graph.constants import constant_value
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation, Tensor
from penstock.ops.checkpoint import parse_slice
from penstock.tensor.dtypes import DType, as_dtype
from penstock.tensor.shapes import TensorShape
from penstock.train.object_graph import GRAPH_KEY, graph_in
from penstock.train.old_cell_names import old_cell_names

_READERS: dict[str, tuple[str, str | None]] = {
    "RestoreV2": ("tensor_names", "shape_and_slices"),
    "RestoreSlice": ("tensor_name", "shape_and_slice"),
    "Restore": ("tensor_name", None),
}
_MOST_LISTED = 50


@dataclass(frozen=True)
class _Wanted:
    """What is assigned to a variable. `shape` is None if it is not checked, `elements` if any number will do."""

    tensor: str
    dtype: DType
    variable: str
    shape: TensorShape | None
    elements: int | None
    names: Tensor
    """The input of the node that reads it which says what to read."""


def check_restorable(graph: Graph, restore_op_name: str, prefix: str) -> dict[Tensor, Any]:
    """Check that the checkpoint has what the Restore nodes under `restore_op_name` read; returns what to feed them.

    That is nothing, unless recurrent cells have in the checkpoint the names that they had before TensorFlow 1.2, or it
    is one of objects, with other keys. A step that fails in the middle would leave some variables restored and others
    not. All problems are listed. Raises NotFoundError if tensors are missing, otherwise InvalidArgumentError for
    different dtypes or shapes.
    """
    wanted = _wanted(graph, restore_op_name)
    with CheckpointReader(prefix) as reader:
        entries = reader.entries
    older = _older(wanted, entries)
    by_objects = {} if older else _of_objects(wanted, entries, prefix)
    if by_objects:
        logging.warning("%s is a checkpoint of objects: its variables are found by the names that they had.", prefix)
        feeds, wanted = _renamed_all(wanted, by_objects)
    elif older:
        today, before = next(iter(older.items()))
        logging.warning(
            "%s has names from before TensorFlow 1.2, such as %s for %s: save it anew.", prefix, before, today
        )
        feeds, wanted = _renamed_all(wanted, older)
    else:
        feeds = {}
    missing = sorted({want.tensor for want in wanted if want.tensor not in entries})
    problems = [_problem(want, entries[want.tensor]) for want in wanted if want.tensor in entries]
    different = [problem for problem in problems if problem]
    if missing:
        message = (
            f"Restoring from checkpoint failed: Key {missing[0]} not found in checkpoint {prefix}"
            + (f" (nor {_listed(missing[1:], ', ')})" if missing[1:] else "")
            + f". The graph has variables that the checkpoint does not{_similar(missing, entries)}; restore the others "
            "with tf.train.Saver(var_list), or under other names with a dict from names in the checkpoint to variables."
        )
        if different:
            message += f" Besides: {_listed(different, '; ')}"
        raise errors.NotFoundError(None, None, message)
    if different:
        message = f"Restoring from checkpoint {prefix} failed: {_listed(different, '; ')}"
        raise errors.InvalidArgumentError(None, None, message)
    return feeds


def _older(wanted: Sequence[_Wanted], entries: Mapping[str, Entry]) -> dict[str, str]:
    """What missing tensors were called when the checkpoint was written."""
    return {
        want.tensor: name
        for want in wanted
        if want.tensor not in entries
        for name in old_cell_names(want.tensor)
        if name in entries and not _problem(want, entries[name])
    }


def _of_objects(wanted: Sequence[_Wanted], entries: Mapping[str, Entry], prefix: str) -> dict[str, str]:
    """The keys of missing tensors in a checkpoint of objects, which has the names of variables beside them."""
    missing = {want.tensor for want in wanted if want.tensor not in entries}
    if not missing or GRAPH_KEY not in entries:
        return {}
    with CheckpointReader(prefix) as reader:
        nodes = graph_in(reader).nodes
    names = {each.full_name: each.checkpoint_key for node in nodes for each in node.attributes}
    return {name: names[name] for name in missing if name in names and names[name] in entries}


def _renamed_all(wanted: Sequence[_Wanted], names: Mapping[str, str]) -> tuple[dict[Tensor, Any], list[_Wanted]]:
    """What to feed, and what is wanted, with other names for tensors."""
    feeds = {want.names: _renamed(want.names, names) for want in wanted if want.tensor in names}
    return feeds, [replace(want, tensor=names.get(want.tensor, want.tensor)) for want in wanted]


def _renamed(names: Tensor, older: Mapping[str, str]) -> Any:
    """The value of an input that says what to read, with the names in the checkpoint."""
    value = np.array(constant_value(names), dtype=object)
    found = [older.get(name.decode(), name.decode()).encode() for name in value.reshape(-1)]
    return np.array(found, dtype=object).reshape(value.shape)


def _problem(want: _Wanted, entry: Entry) -> str | None:
    have, found = as_dtype(numpy_dtype(entry.dtype)), TensorShape(entry.shape)
    if have != want.dtype:
        return f"variable {want.variable} is {want.dtype.name}, tensor {want.tensor} is {have.name}"
    if want.shape is not None and not want.shape.is_compatible_with(found):
        return f"variable {want.variable} has shape {want.shape}, tensor {want.tensor} has {found}"
    if want.elements is not None and want.elements != found.num_elements():
        return f"variable {want.variable} has {want.elements} elements, tensor {want.tensor} has shape {found}"
    return None


def _listed(items: Sequence[str], separator: str) -> str:
    more = len(items) - _MOST_LISTED
    return separator.join(items[:_MOST_LISTED]) + (f"{separator}and {more} more" if more > 0 else "")


def _similar(missing: Sequence[str], names: Collection[str]) -> str:
    """Names in the checkpoint that differ little from the first of those that are missing."""
    close = difflib.get_close_matches(missing[0], names, n=3) if len(names) < 10_000 else []
    return f" (it has {', '.join(close)})" if close else ""


def _wanted(graph: Graph, restore_op_name: str) -> list[_Wanted]:
    """What each assignment takes that Restore nodes feed."""
    found = []
    for operation in _controls_of(graph.get_operation_by_name(restore_op_name)):
        if not operation.op_def.traits.assigns:
            continue
        target, source = operation.inputs
        reshaped = False
        while source.op.type in ("Identity", "Reshape"):
            reshaped = reshaped or source.op.type == "Reshape"
            source = source.op.inputs[0]
        if source.op.type not in _READERS:
            continue
        keys = _READERS[source.op.type]
        name, part = (_text(source.op, key, source.value_index) for key in keys)
        if name is None:
            continue
        checked = operation.get_attr("validate_shape")
        if part:
            shape = TensorShape(parse_slice(name, part)[0])
        else:
            shape = target.shape if operation.type == "Assign" else target.op.attrs.get("shape", TensorShape(None))
        elements = shape.num_elements() if checked and reshaped else None
        names, must_be = _input(source.op, keys[0]), shape if checked and not reshaped else None
        found.append(_Wanted(name, source.dtype, target.op.name, must_be, elements, names))
    return found


def _text(operation: Operation, key: str | None, at: int) -> str | None:
    """One of the constant texts that `operation` takes as its input `key`."""
    if key is None:
        return None
    value = constant_value(_input(operation, key))
    return None if value is None else value.reshape(-1)[at].decode()


def _input(operation: Operation, name: str) -> Tensor:
    return operation.inputs[[arg.name for arg in operation.op_def.inputs].index(name)]


def _controls_of(operation: Operation) -> list[Operation]:
    """Everything that `operation` waits for, through nested groups."""
    found, waiting = [], [operation]
    while waiting:
        for control in waiting.pop().control_inputs:
            found.append(control)
            if control.type == "NoOp":
                waiting.append(control)
    return found
