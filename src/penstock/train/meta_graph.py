"""MetaGraphDef: a graph with its collections and the names of a saver's nodes, in one message."""

from __future__ import annotations

import logging
import os
from typing import Any

from google.protobuf import message, text_format
from tensorboard.compat.proto import meta_graph_pb2, variable_pb2

from penstock import errors
from penstock.checkpoint.replace import Replacement
from penstock.checkpoint.storage import locate, typed
from penstock.client.variable import Variable, in_scope
from penstock.export import export
from penstock.graph.graph import Graph
from penstock.graph.importer import import_graph_def
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import GraphKeys, get_default_graph
from penstock.train.queue_runner import QueueRunner, QueueRunnerDef

_LOG = logging.getLogger(__name__)
_MOST_BYTES = 2 << 30
_VARIABLE_COLLECTIONS = {
    GraphKeys.GLOBAL_VARIABLES,
    GraphKeys.LOCAL_VARIABLES,
    GraphKeys.MODEL_VARIABLES,
    GraphKeys.TRAINABLE_VARIABLES,
    GraphKeys.MOVING_AVERAGE_VARIABLES,
    GraphKeys.METRIC_VARIABLES,
    GraphKeys.GLOBAL_STEP,
}

# --- files ----------------------------------------------------------------------------------------------


def write_file(path: str, data: bytes) -> None:
    """Writes the file atomically."""
    storage, target = locate(path)
    with typed(f"cannot write {path}"), Replacement(storage, target) as replacement:
        replacement.publish(data)


@export("io.write_graph", "train.write_graph")
def write_graph(graph_or_graph_def: Any, logdir: str, name: str, as_text: bool = True) -> str:
    """Write a GraphDef to `logdir/name`, as text or binary; returns the path (TF: tf.train.write_graph)."""
    graph_def = graph_or_graph_def
    if isinstance(graph_or_graph_def, Graph):
        graph_def = graph_or_graph_def.as_graph_def()
    if "://" not in logdir:
        os.makedirs(logdir, exist_ok=True)
    path = os.path.join(logdir, name)
    write_file(path, str(graph_def).encode() if as_text else graph_def.SerializeToString())
    return path


def read_meta_graph_file(filename: str) -> Any:
    """The MetaGraphDef in a file, binary or text. Raises OSError if there is none or it cannot be parsed."""
    storage, path = locate(filename)
    if not storage.exists(path):
        raise OSError(f"File {filename} does not exist.")
    with typed(f"cannot read {filename}"):
        data = storage.read(path, _MOST_BYTES)
    meta_graph = meta_graph_pb2.MetaGraphDef()
    try:
        meta_graph.ParseFromString(data)
        return meta_graph
    except message.DecodeError:
        pass
    try:
        return text_format.Parse(data.decode(), meta_graph)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise OSError(f"Cannot parse file {filename}: {error}.") from None


# --- out ------------------------------------------------------------------------------------------------


def create_meta_graph_def(
    graph: Graph | None = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: list[str] | None = None,
    clear_devices: bool = False,
    meta_info_def: Any = None,
) -> Any:
    """`graph` (the default one) as a MetaGraphDef. Collections that cannot be stored in a message are left out."""
    graph = graph or get_default_graph()
    meta_graph = meta_graph_pb2.MetaGraphDef()
    if meta_info_def is not None:
        meta_graph.meta_info_def.CopyFrom(meta_info_def)
    meta_graph.graph_def.CopyFrom(graph_def or graph.as_graph_def(add_shapes=True))
    if clear_devices:
        for node in meta_graph.graph_def.node:
            node.device = ""
    for key in graph.get_all_collection_keys() if collection_list is None else collection_list:
        _add_collection(meta_graph, key, graph.get_collection(key))
    if saver_def is not None:
        meta_graph.saver_def.CopyFrom(saver_def)
    return meta_graph


def _add_collection(meta_graph: Any, key: str, items: list[Any]) -> None:
    collection = meta_graph_pb2.CollectionDef()
    for item in items:
        match item:
            case Tensor() | Operation():
                collection.node_list.value.append(item.name)
            case bool():
                break
            case int():
                collection.int64_list.value.append(item)
            case float():
                collection.float_list.value.append(item)
            case str() | bytes():
                collection.bytes_list.value.append(item.encode() if isinstance(item, str) else item)
            case _ if hasattr(item, "to_proto"):
                proto = item.to_proto()
                if proto is not None:
                    collection.bytes_list.value.append(proto.SerializeToString())
            case _:
                break
    else:
        if len(collection.ListFields()) <= 1:
            meta_graph.collection_def[key].CopyFrom(collection)
            return
    _LOG.warning("collection %r is not in the meta graph: it has items that no message holds", key)


@export("train.export_meta_graph")
def export_meta_graph(
    filename: str | None = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: list[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
) -> Any:
    """A graph with its collections as a MetaGraphDef, written to `filename` if given.

    TF: tf.train.export_meta_graph.
    """
    if export_scope is not None:
        raise errors.UnimplementedError(None, None, "export_scope: only whole graphs can be exported")
    meta_graph = create_meta_graph_def(graph, graph_def, saver_def, collection_list, clear_devices, meta_info_def)
    if filename:
        data = text_format.MessageToString(meta_graph).encode() if as_text else meta_graph.SerializeToString()
        write_file(filename, data)
    return meta_graph


# --- in -------------------------------------------------------------------------------------------------


def import_scoped_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    input_map: dict[str, Any] | None = None,
) -> Any:
    """Add nodes and collections of a MetaGraphDef (or a file) to the default graph; returns the message."""
    meta_graph = meta_graph_or_file
    if not isinstance(meta_graph, meta_graph_pb2.MetaGraphDef):
        if hasattr(meta_graph, "SerializeToString"):  # TensorFlow's own class of the same message
            meta_graph = meta_graph_pb2.MetaGraphDef.FromString(meta_graph.SerializeToString())
        else:
            meta_graph = read_meta_graph_file(os.fspath(meta_graph_or_file))
    graph_def = meta_graph.graph_def
    if clear_devices:
        for node in graph_def.node:
            node.device = ""
    import_graph_def(graph_def, input_map=input_map, name=import_scope or "")
    graph = get_default_graph()
    variables: dict[str, Any] = {}
    for key in sorted(meta_graph.collection_def):
        for item in _items(key, meta_graph.collection_def[key], import_scope, variables):
            graph.add_to_collection(key, item)
    return meta_graph


def _items(key: str, collection: Any, scope: str | None, variables: dict[str, Any]) -> list[Any]:
    """The items of one collection; a variable that is in several of them is one object."""
    kind = collection.WhichOneof("kind")
    if kind is None:
        return []
    values = list(getattr(collection, kind).value)
    if kind == "node_list":
        graph = get_default_graph()
        return [graph.as_graph_element(in_scope(name, scope)) for name in values]
    if kind == "bytes_list" and key == GraphKeys.QUEUE_RUNNERS:
        return [QueueRunner.from_proto(QueueRunnerDef.FromString(data), import_scope=scope) for data in values]
    if kind != "bytes_list" or key not in _VARIABLE_COLLECTIONS:
        return values
    found = []
    for data in values:
        definition = variable_pb2.VariableDef.FromString(data)
        name = definition.variable_name
        if name not in variables:
            variables[name] = Variable.from_proto(definition, import_scope=scope)
        found.append(variables[name])
    return found
