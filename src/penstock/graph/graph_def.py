"""Graphs as GraphDef messages, with the functions that their nodes hold as the library.

In a FunctionDef an input is "argument", or "node:output:index" with the output's name in the signature; in a
GraphDef it is "node:port".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorboard.compat.proto import function_pb2, graph_pb2

from penstock.graph.codec import node_def, versions
from penstock.graph.graph_function import GraphFunction, library_of

if TYPE_CHECKING:
    from penstock.graph.graph import Graph
    from penstock.graph.operation import Operation, Tensor


def graph_def(graph: Graph, from_version: int | None = None, add_shapes: bool = False) -> Any:
    """The graph as a GraphDef; with `add_shapes`, static shapes are included as `_output_shapes`."""
    proto = graph_pb2.GraphDef(versions=versions())
    with graph._lock:  # a node of a loop may get inputs that were built later, by another thread after the last here
        for op in graph.get_operations()[from_version or 0 :]:
            node = node_def(op)
            if add_shapes and op._outputs:
                node.attr["_output_shapes"].list.shape.extend([t.shape.as_proto() for t in op._outputs])
            proto.node.append(node)
    functions = library_of(graph)
    if functions:
        proto.library.CopyFrom(library_def(functions))
    if proto.ByteSize() >= 2**31:
        raise ValueError("GraphDef cannot be larger than 2GB.")
    return proto


def library_def(functions: dict[str, GraphFunction]) -> Any:
    """`functions` as a FunctionDefLibrary."""
    library = function_pb2.FunctionDefLibrary()
    library.function.extend([function_def(functions[name]) for name in sorted(functions)])
    for name in sorted(functions):
        if isinstance(gradient := functions[name].gradient, GraphFunction):
            library.gradient.add(function_name=name, gradient_func=gradient.name)
    return library


def function_def(function: GraphFunction) -> Any:
    proto = function_pb2.FunctionDef()
    proto.signature.name = function.name
    proto.signature.is_stateful = function.is_stateful
    if function.noinline:
        proto.attr["_noinline"].b = True
    names = {tensor: tensor.op.name for tensor in function.arguments}
    for i, tensor in enumerate(function.arguments):
        arg = proto.signature.input_arg.add(name=names[tensor], type=tensor.dtype.base_dtype.as_datatype_enum)
        proto.arg_attr[i].attr["_output_shapes"].list.shape.append(tensor.shape.as_proto())
        if tensor.dtype.name == "resource":
            arg.is_ref = False
    arguments = {tensor.op for tensor in function.arguments}
    for op in function.graph.get_operations():
        if op not in arguments:
            proto.node_def.append(_inner_node(op, names))
    for i, tensor in enumerate(function.results):
        name = f"output_{i}"
        proto.signature.output_arg.add(name=name, type=tensor.dtype.base_dtype.as_datatype_enum)
        proto.ret[name] = _reference(tensor, names)
    for op in function.targets:
        proto.signature.control_output.append(op.name)
        proto.control_ret[op.name] = op.name
    return proto


def _inner_node(op: Operation, names: dict[Tensor, str]) -> Any:
    proto = node_def(op)
    controls = [text for text in proto.input if text.startswith("^")]
    del proto.input[:]
    proto.input.extend([_reference(tensor, names) for tensor in op._inputs])
    proto.input.extend(controls)
    return proto


def _reference(tensor: Tensor, names: dict[Tensor, str]) -> str:
    """The name of `tensor` in nodes of a FunctionDef."""
    if tensor in names:
        return names[tensor]
    position = 0
    for arg in tensor.op.op_def.outputs:
        count = len(arg.dtypes(tensor.op.attrs))
        if tensor.value_index < position + count:
            return f"{tensor.op.name}:{arg.name}:{tensor.value_index - position}"
        position += count
    raise AssertionError(f"{tensor.name} is no output of its node")
