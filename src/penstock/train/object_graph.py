"""The graph of the objects in a checkpoint: what TensorFlow writes beside the values, and how it is matched.

Values have the path to their object as a key, `model/layer-0/kernel/.ATTRIBUTES/VARIABLE_VALUE`. The graph itself is a
string tensor, a TrackableObjectGraph: from the names of dependencies at each object to other objects, so that a program
finds values by its own names whatever the keys are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from google.protobuf.message import DecodeError
from tensorboard.compat.proto.trackable_object_graph_pb2 import TrackableObjectGraph

from penstock import errors, logging
from penstock.checkpoint.reader import CheckpointReader
from penstock.client.saveables import saveables_of
from penstock.client.trackable import Constant, dependencies
from penstock.client.variable import Variable
from penstock.export import export

GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
VALUE = "VARIABLE_VALUE"


def is_value(thing: Any) -> bool:
    return isinstance(thing, Variable | Constant)


def objects_below(root: Any) -> tuple[list[Any], dict[int, str]]:
    """The objects that `root` depends on, nearest first, without slots; the shortest path to each, by its id."""
    paths, found, waiting = {id(root): ""}, [root], deque([root])
    while waiting:
        current = waiting.popleft()
        for name, ref in dependencies(current):
            if id(ref) not in paths:
                above = paths[id(current)]
                paths[id(ref)] = f"{above}/{_escaped(name)}" if above else _escaped(name)
                found.append(ref)
                waiting.append(ref)
    return found, paths


def slots_among(objects: list[Any]) -> Iterator[tuple[Any, Any, str, Any]]:
    """`(optimizer, variable, name, slot)` for all slots that optimizers have for variables among the objects."""
    variables = [each for each in objects if isinstance(each, Variable)]
    for optimizer in objects:
        own = getattr(optimizer, "_has_own_slots", False)
        for name in optimizer.get_slot_names() if own else ():
            for variable in variables:
                slot = optimizer.get_slot(variable, name)
                if isinstance(slot, Variable):
                    yield optimizer, variable, name, slot


def described(root: Any) -> tuple[Any, dict[str, Any]]:
    """The TrackableObjectGraph of `root`, and the variables and numbers to be saved with it, by their keys."""
    objects, paths = objects_below(root)
    numbers = {id(each): i for i, each in enumerate(objects)}
    graph = TrackableObjectGraph(nodes=[TrackableObjectGraph.TrackableObject() for _ in objects])
    for each, node in zip(objects, graph.nodes, strict=True):
        for name, ref in dependencies(each):
            node.children.add(local_name=name, node_id=numbers[id(ref)])
    every = list(objects)
    for optimizer, variable, name, slot in slots_among(objects):
        if id(slot) not in numbers:
            numbers[id(slot)] = len(every)
            paths[id(slot)] = f"{paths[id(variable)]}/.OPTIMIZER_SLOT/{paths[id(optimizer)]}/{_escaped(name)}"
            every.append(slot)
            graph.nodes.add()
        owner = graph.nodes[numbers[id(optimizer)]]
        owner.slot_variables.add(
            slot_name=name, original_variable_node_id=numbers[id(variable)], slot_variable_node_id=numbers[id(slot)]
        )
    values = {}
    for each, node in zip(every, graph.nodes, strict=True):
        if is_value(each):
            key = f"{paths[id(each)]}/.ATTRIBUTES/{VALUE}"
            full_name = each.name if isinstance(each, Constant) else saveables_of([each])[0].name
            node.attributes.add(name=VALUE, full_name=full_name, checkpoint_key=key)
            values[key] = each
    return graph, values


def _escaped(name: str) -> str:
    return name.replace(".", "..").replace("/", ".S")


@export("contrib.checkpoint.list_objects")
def list_objects(root_trackable: Any) -> list[Any]:
    """The objects that it depends on, itself first, and last the slots of optimizers among them."""
    objects, _ = objects_below(root_trackable)
    known = {id(each): each for each in objects}
    known |= {id(slot): slot for *_, slot in slots_among(objects)}
    return list(known.values())


# --- reading ------------------------------------------------------------------------------------------------


def graph_in(reader: CheckpointReader) -> Any:
    """The TrackableObjectGraph of a checkpoint, None if it is one of names. Raises DataLossError if it is damaged."""
    if GRAPH_KEY not in reader.entries:
        return None
    if (entry := reader.entries[GRAPH_KEY]).dtype != "string" or entry.shape != ():
        _damaged(reader.prefix, f"it is of {entry.dtype} with shape {list(entry.shape)}, not a string")
    try:
        graph = TrackableObjectGraph.FromString(reader.array(GRAPH_KEY).item())
    except DecodeError as error:
        _damaged(reader.prefix, str(error))
    known = range(len(graph.nodes))
    if not known:
        _damaged(reader.prefix, "it has no objects")
    for node in graph.nodes:
        named = [child.node_id for child in node.children]
        for slot in node.slot_variables:
            named += [slot.original_variable_node_id, slot.slot_variable_node_id]
        wrong = [number for number in named if number not in known]
        if wrong:
            _damaged(reader.prefix, f"it names object {wrong[0]} of {len(known)}")
    return graph


def _damaged(prefix: str, why: str) -> Any:
    raise errors.DataLossError(None, None, f"the object graph of checkpoint {prefix} ({GRAPH_KEY}) is damaged: {why}")


@export("contrib.checkpoint.object_metadata")
def object_metadata(save_path: Any) -> Any:
    """The TrackableObjectGraph in a checkpoint. Raises ValueError if there is none."""
    with CheckpointReader(save_path) as reader:
        graph = graph_in(reader)
    if graph is None:
        raise ValueError(
            f'The specified checkpoint "{save_path}" does not appear to be object-based (it is missing the key '
            f'"{GRAPH_KEY}"). Likely it was created with a name-based saver.'
        )
    return graph


def matched(graph: Any, root: Any, prefix: str) -> dict[int, Any]:
    """The objects of the program for those of a checkpoint, by their numbers there: those that have the same names.

    Two that the program has for one, or one that it has for two, are not matched again, with a warning.
    """
    found, numbers, waiting = {0: root}, {id(root): 0}, deque([0])

    def match(number: int, ref: Any) -> None:
        if number not in found and id(ref) not in numbers:
            found[number], numbers[id(ref)] = ref, number
            waiting.append(number)
        elif found.get(number) is not ref:
            logging.warning("Inconsistent references in checkpoint %s: object %d is not %r there.", prefix, number, ref)

    while waiting:
        number = waiting.popleft()
        names = dict(dependencies(found[number]))
        for child in graph.nodes[number].children:
            if child.local_name in names:
                match(child.node_id, names[child.local_name])
    for number, node in enumerate(graph.nodes):
        for slot in node.slot_variables:
            optimizer, variable = found.get(number), found.get(slot.original_variable_node_id)
            if optimizer is not None and getattr(optimizer, "_has_own_slots", False) and isinstance(variable, Variable):
                ref = optimizer.get_slot(variable, slot.slot_name)
                if isinstance(ref, Variable):
                    match(slot.slot_variable_node_id, ref)
    return found
