"""Collections in meta graphs: how their items become messages, and come back as what they were."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tensorboard.compat.proto import meta_graph_pb2, variable_pb2

from penstock.client.variable import Variable, in_scope, without_scope
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import GraphKeys, get_default_graph
from penstock.train.queue_runner import QueueRunner, QueueRunnerDef

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class ProtoFunctions:
    """How the items of a collection are stored, where they are not variables, nodes, numbers or text."""

    message: Any = None
    to_proto: Callable[..., Any] | None = None
    from_proto: Callable[..., Any] | None = None


_registered: dict[str, ProtoFunctions] = {}


def register_proto_function(
    collection_name: str,
    proto_type: Any = None,
    to_proto: Callable[..., Any] | None = None,
    from_proto: Callable[..., Any] | None = None,
) -> None:
    """Say how meta graphs store the items of a collection: as messages of the class `proto_type`.

    `to_proto(item, export_scope=...)` returns one, or None for an item outside the scope; `from_proto(message,
    import_scope=...)` returns the item. TF: tensorflow.python.framework.ops.register_proto_function.
    """
    for name, function in (("to_proto", to_proto), ("from_proto", from_proto)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} must be callable.")
    _registered[collection_name] = ProtoFunctions(proto_type, to_proto, from_proto)


register_proto_function(GraphKeys.QUEUE_RUNNERS, QueueRunnerDef, QueueRunner.to_proto, QueueRunner.from_proto)
for _key in (
    GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES, GraphKeys.MODEL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES,
    GraphKeys.MOVING_AVERAGE_VARIABLES, GraphKeys.METRIC_VARIABLES, GraphKeys.GLOBAL_STEP,
    GraphKeys.CONCATENATED_VARIABLES,
):  # fmt: skip
    register_proto_function(_key, variable_pb2.VariableDef, None, Variable.from_proto)


# --- out ------------------------------------------------------------------------------------------------


def collection_def(key: str, items: Iterable[Any], scope: str | None, has_node: Callable[[str], bool]) -> Any:
    """The items as a CollectionDef; None, with a warning, if some are of a kind that no message holds.

    scope: only what is within, under the names from there. Nodes that are not in the message are left out.
    """
    collection = meta_graph_pb2.CollectionDef()
    to_proto = _registered.get(key, ProtoFunctions()).to_proto
    for item in items:
        match item:
            case _ if to_proto is not None and not isinstance(item, bytes):
                _add_message(collection, to_proto(item, export_scope=scope))
            case _ if isinstance(item, Tensor | Operation) or (isinstance(item, Variable) and key not in _registered):
                if _within(item.name, scope) and has_node(item.name.partition(":")[0]):
                    collection.node_list.value.append(without_scope(item.name, scope))
            case bool():
                break
            case int():
                collection.int64_list.value.append(item)
            case float():
                collection.float_list.value.append(item)
            case str() | bytes():
                collection.bytes_list.value.append(item.encode() if isinstance(item, str) else item)
            case _ if hasattr(item, "to_proto"):
                _add_message(collection, item.to_proto(export_scope=scope))
            case _:
                break
    else:
        if len(collection.ListFields()) <= 1:
            return collection
    _LOG.warning("collection %r is not in the meta graph: it has items that no message holds", key)
    return None


def _add_message(collection: Any, message: Any) -> None:
    if message is not None:
        collection.bytes_list.value.append(message.SerializeToString())


def _within(name: str, scope: str | None) -> bool:
    return not scope or name.startswith(scope.rstrip("/") + "/")


# --- in -------------------------------------------------------------------------------------------------


def collection_items(key: str, collection: Any, scope: str | None, known: dict[Any, Any]) -> list[Any]:
    """The items of a CollectionDef; one that is in several collections (see `known`) is one object."""
    kind = collection.WhichOneof("kind")
    if kind is None:
        return []
    values = list(getattr(collection, kind).value)
    if kind == "node_list":
        graph = get_default_graph()
        return [graph.as_graph_element(in_scope(name, scope)) for name in values]
    functions = _registered.get(key, ProtoFunctions())
    if kind != "bytes_list" or functions.from_proto is None or functions.message is None:
        return values
    items = []
    for data in values:
        message = functions.message.FromString(data)
        identity = functions.message, getattr(message, "variable_name", data)
        if identity not in known:
            known[identity] = functions.from_proto(message, import_scope=scope)
        items.append(known[identity])
    return items
