"""`import_graph_def`: adds the nodes of a GraphDef to the current graph."""

from __future__ import annotations

import contextlib
from typing import Any

from penstock.export import export
from penstock.graph.attributes import complete_attrs
from penstock.graph.codec import node_attrs, repeated_bytes
from penstock.graph.convert import convert_to_tensor
from penstock.graph.functions import FunctionGraph, name_function
from penstock.graph.graph import Graph
from penstock.graph.library import Library
from penstock.graph.opdef import get_op, has_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.primitives import MERGES, PRIMITIVES
from penstock.graph.scopes import get_default_graph
from penstock.graph.shape_context import infer_shapes
from penstock.graph.verify import BACK
from penstock.tensor.shapes import TensorShape, same_sizes

_SHAPES_OF_PLACEHOLDERS = 24
"""The graph version since which a placeholder's shape [] means "a scalar"; earlier, it meant "unknown"."""

_REPEATED = 32 << 20
"""How many bytes of repeated values a small graph may leave out of its constants."""


@export("import_graph_def", "graph_util.import_graph_def")
def import_graph_def(
    graph_def: Any,
    input_map: dict[str, Any] | None = None,
    return_elements: list[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
    library: Library | None = None,
) -> list[Any] | None:
    """Add the nodes of `graph_def` under the name scope `name` ("import") and return `return_elements`.

    `input_map` replaces edges of the message ("node:port", "node", "^node") by tensors of this graph. Raises
    ValueError, naming the node, if one is malformed, has an unknown op, or lacks an input; the graph is then unchanged.
    library: the functions that nodes may name; None: those of `graph_def`.
    """
    if not hasattr(graph_def, "node"):
        raise TypeError(f"graph_def must be a GraphDef proto, not {type(graph_def).__name__}.")
    graph = get_default_graph()
    mapping = {str(k): v for k, v in (input_map or {}).items()}
    unused = set(mapping) - {key for node in graph_def.node for text in node.input for key in _keys(text)}
    if unused:
        raise ValueError(f"Attempted to map inputs that were not found in graph_def: [{', '.join(sorted(unused))}]")
    if library is None:
        check_size(graph_def)
        library = Library(graph_def.library, import_graph_def)
    with graph._lock:
        count, names = len(graph._nodes), dict(graph._names_in_use)
        try:
            imported = _import(graph, graph_def, mapping, "import" if name is None else name, library)
        except Exception:
            _forget(graph, count, names)
            raise
        if any(op.type in PRIMITIVES for op in imported.ops.values()):
            graph._imported.append(list(imported.ops.values()))
    if not isinstance(graph, FunctionGraph):
        for function in library.functions.values():
            if function not in graph._functions.values():
                function.name = name_function(graph, function.name, function)
    return None if return_elements is None else [imported.element(str(e)) for e in return_elements]


def check_size(graph_def: Any) -> None:
    """Raises ValueError for constants that would be much larger than their message."""
    nodes = [*graph_def.node, *(node for function in graph_def.library.function for node in function.node_def)]
    constants = [value.tensor for node in nodes for value in node.attr.values() if value.HasField("tensor")]
    repeated = sum(map(repeated_bytes, constants))
    if repeated > _REPEATED and repeated > 4 * graph_def.ByteSize():
        raise ValueError(
            f"the constants of the graph_def leave out {repeated >> 20} MiB of repeated values: too much to trust a "
            f"message of {graph_def.ByteSize() >> 10} KiB with"
        )


def _forget(graph: Graph, count: int, names: dict[str, int]) -> None:
    """Remove the nodes added since there were `count`."""
    for op in graph._nodes[count:]:
        for tensor in dict.fromkeys(op._inputs):
            tensor._consumers.remove(op)
        del graph._by_name[op.name]
    del graph._nodes[count:]
    graph._names_in_use = names


def _keys(text: str) -> list[str]:
    """The keys by which `input_map` may name the input `text` of a node."""
    if text.startswith("^"):
        return [text]
    node, _, port = text.partition(":")
    return [f"{node}:{port or 0}", *([node] if port in ("", "0") else [])]


class _Imported:
    """What has been imported so far."""

    def __init__(self, mapping: dict[str, Any], producer: int, library: Library) -> None:
        self.producer = producer
        self.library = library
        self.ops: dict[str, Operation] = {}
        self.mapping = mapping
        self.back_nodes: set[str] = set()
        self.open: list[tuple[str, int, str]] = []
        self.frames: dict[bytes, bytes] = {}
        """The names of loops: two that have one name would be one loop."""

    def tensor(self, text: str, consumer: str) -> Tensor:
        for key in _keys(text):
            if key in self.mapping:
                return convert_to_tensor(self.mapping[key])
        node, _, port = text.partition(":")
        try:
            return self.ops[node]._outputs[int(port or 0)]
        except (KeyError, IndexError, ValueError):
            raise ValueError(f"node {consumer!r}: its input {text!r} is not in the graph_def") from None

    def inputs(self, proto: Any) -> list[Tensor]:
        """The inputs of a node; for one that comes later and closes a loop, a stand-in until `close_loops`."""
        texts = [text for text in proto.input if not text.startswith("^")]
        if proto.op not in MERGES:
            return [self.tensor(text, proto.name) for text in texts]
        later = [t.partition(":")[0] in self.back_nodes and t.partition(":")[0] not in self.ops for t in texts]
        here = [self.tensor(t, proto.name) for t, is_later in zip(texts, later, strict=True) if not is_later]
        if not here:
            raise ValueError(f"node {proto.name!r}: nothing enters its loop")
        self.open += [
            (proto.name, i, text) for i, (text, is_later) in enumerate(zip(texts, later, strict=True)) if is_later
        ]
        rest = iter(here)
        return [here[0] if is_later else next(rest) for is_later in later]

    def close_loops(self) -> None:
        for name, index, text in self.open:
            self.ops[name]._update_input(index, self.tensor(text, name))
        merges = {self.ops[name] for name, _, _ in self.open}
        while changed := {merge for merge in merges if _widens(merge)}:
            for op in self.ops.values():
                if op not in merges and any(tensor.op in changed for tensor in op._inputs):
                    infer_shapes(op)
                    changed.add(op)

    def control(self, text: str, consumer: str) -> Operation:
        if text in self.mapping:
            mapped = self.mapping[text]
            return mapped.op if isinstance(mapped, Tensor) else mapped
        try:
            return self.ops[text[1:]]
        except KeyError:
            raise ValueError(f"node {consumer!r}: its control input {text!r} is not in the graph_def") from None

    def element(self, name: str) -> Any:
        node, colon, port = name.partition(":")
        if node not in self.ops:
            raise ValueError(f"Requested return_element {name!r} not found in graph_def.")
        if not colon:
            return self.ops[node]
        try:
            return self.ops[node]._outputs[int(port)]
        except (IndexError, ValueError):
            raise ValueError(f"Requested return_element {name!r} not found in graph_def.") from None


def _widens(merge: Operation) -> bool:
    """Whether a loop variable turns out to have another shape after an iteration; its Merge then has what both agree
    on."""
    result = merge._outputs[0]
    before, after = result._shape, result._shape
    for tensor in merge._inputs:
        after = after.most_specific_compatible_shape(tensor._shape)
    result._shape = after
    return not same_sizes(after, before)


def _import(graph: Graph, graph_def: Any, mapping: dict[str, Any], scope_name: str, library: Library) -> _Imported:
    imported = _Imported(mapping, graph_def.versions.producer, library)
    imported.back_nodes = {proto.name for proto in graph_def.node if proto.op in BACK}
    with graph.name_scope(scope_name or None) as scope:
        prefix = scope if scope_name else ""
        for proto in _in_order(graph_def):
            try:
                imported.ops[proto.name] = _import_node(graph, proto, imported, prefix)
            except (TypeError, NotImplementedError, KeyError, UnicodeError) as error:
                raise ValueError(f"node {proto.name!r} ({proto.op}): {error}") from error
        imported.close_loops()
    return imported


def _import_node(graph: Graph, proto: Any, imported: _Imported, prefix: str) -> Operation:
    if proto.op in imported.library and not has_op(proto.op):
        proto = imported.library.as_call(proto)
    op_def = get_op(proto.op)
    inputs = imported.inputs(proto)
    controls = [imported.control(text, proto.name) for text in proto.input if text.startswith("^")]
    attrs = complete_attrs(op_def, inputs, imported.library.resolve(node_attrs(op_def, proto)))
    if proto.op == "Placeholder" and imported.producer < _SHAPES_OF_PLACEHOLDERS and attrs["shape"].ndims == 0:
        attrs["shape"] = TensorShape(None)
    if "_class" in attrs:  # colocation groups name nodes of the message
        attrs["_class"] = [b"loc:@" + prefix.encode() + g[5:] if g.startswith(b"loc:@") else g for g in attrs["_class"]]
    if "frame_name" in attrs:
        frame = attrs["frame_name"]
        if frame not in imported.frames:
            imported.frames[frame] = graph.unique_name(frame.decode()).encode()
        attrs["frame_name"] = imported.frames[frame]
    if proto.op.startswith("TensorArrayGrad"):
        attrs["source"] = prefix.encode() + attrs["source"]
        graph._imported_gradients.add(attrs["source"].decode())
    name = prefix + proto.name
    if name in graph._by_name:
        if prefix:
            raise ValueError(f"node {proto.name!r} appears twice in the graph_def")
        name = graph.unique_name(proto.name)
    else:
        graph._names_in_use.setdefault(name.lower(), 1)
    with graph.device(proto.device) if proto.device else contextlib.nullcontext():
        op = graph.add_node(op_def, inputs, attrs, name + "/")
    if controls:  # what they wait for, this one need not wait for itself: it may be in a loop of the message
        op._control_inputs = controls
    return op


def _is_back_edge(source: Any, consumer: Any) -> bool:
    """Whether an edge closes a loop, so that the consumer comes first."""
    return consumer.op in MERGES and source.op in BACK


def _in_order(graph_def: Any) -> list[Any]:
    """The nodes, inputs before consumers; stable. Raises ValueError for a duplicate name or a cycle."""
    by_name: dict[str, Any] = {}
    for proto in graph_def.node:
        if by_name.setdefault(proto.name, proto) is not proto:
            raise ValueError(f"node {proto.name!r} appears twice in the graph_def")
    order: list[Any] = []
    state: dict[str, int] = {}  # 1: being visited, 2: done
    for root in graph_def.node:
        stack = [(root, iter(root.input))]
        if state.get(root.name):
            continue
        state[root.name] = 1
        while stack:
            proto, inputs = stack[-1]
            for text in inputs:
                needed = text.lstrip("^").partition(":")[0]
                if needed in by_name and needed != proto.name and not _is_back_edge(by_name[needed], proto):
                    if state.get(needed) == 1:
                        raise ValueError(f"node {proto.name!r}: a cycle through {needed!r} (no NextIteration on it)")
                    if needed not in state:
                        state[needed] = 1
                        stack.append((by_name[needed], iter(by_name[needed].input)))
                        break
            else:
                state[proto.name] = 2
                order.append(proto)
                stack.pop()
    return order
