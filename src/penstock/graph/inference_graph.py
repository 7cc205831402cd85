"""Frozen graphs made smaller and quicker, as GraphDefs (TF: tools.optimize_for_inference_lib)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tensorboard.compat.proto import graph_pb2

from penstock.graph.codec import make_ndarray
from penstock.graph.extraction import constant_node, extract_sub_graph, remove_training_nodes
from penstock.graph.strip_unused import strip_unused
from penstock.tensor.dtypes import as_dtype

_NORMALISATIONS = {
    "FusedBatchNorm": "0 scale offset mean variance",
    "FusedBatchNormV2": "0 scale offset mean variance",
    "FusedBatchNormV3": "0 scale offset mean variance",
    "BatchNormWithGlobalNormalization": "0 mean variance offset scale",
}
"""What the inputs of each op are."""
_EPSILON = {"BatchNormWithGlobalNormalization": "variance_epsilon"}
_DEFAULT_EPSILON = 1e-4
"""Of the fused ops, where a file leaves out what has its default."""
_CONVOLUTIONS = {"Conv2D": 3, "DepthwiseConv2dNative": 2}
"""The dimension of the filters from which the channels of the result are counted."""


def optimize_for_inference(
    input_graph_def: Any,
    input_node_names: Sequence[str],
    output_node_names: Sequence[str],
    placeholder_type_enum: Any,
    toco_compatible: bool = False,
    placeholder_to_const_names: Any = None,
) -> Any:
    """What `output_node_names` need, without nodes of training, and with batch normalisations in the filters before
    them.

    Steps fold much more of a frozen graph by themselves; this is for graphs that go to other programs. Padding and
    resizing before convolutions stay nodes of their own. Arguments are those of `strip_unused`.
    """
    if placeholder_to_const_names:
        raise NotImplementedError(
            "placeholder_to_const_names: replace placeholders by input_map in tf.import_graph_def"
        )
    graph = strip_unused(input_graph_def, input_node_names, output_node_names, placeholder_type_enum)
    return fold_batch_norms(remove_training_nodes(graph, list(output_node_names)), output_node_names)


def fold_batch_norms(input_graph_def: Any, output_node_names: Sequence[str] = ()) -> Any:
    """A GraphDef in which convolutions by constant filters take in the batch normalisation of their results.

    The normalisation's node becomes the addition of a bias, under its own name. Only if its other inputs are constants,
    only the first of its outputs is used, and nothing but it uses the convolution.
    """
    nodes = {node.name: node for node in input_graph_def.node}
    uses: dict[str, int] = {}
    for node in input_graph_def.node:
        for text in node.input:
            uses[text] = uses.get(text, 0) + 1
    found = graph_pb2.GraphDef(library=input_graph_def.library, versions=input_graph_def.versions)
    instead: dict[str, list[Any]] = {}
    for node in input_graph_def.node:
        if node.op in _NORMALISATIONS and (folded := _folded(node, nodes, uses, set(output_node_names))):
            instead[node.input[0]] = []
            instead[node.name] = folded
    if not instead:
        return input_graph_def
    for node in input_graph_def.node:
        found.node.extend(instead.get(node.name, [node]))
    roots = output_node_names or [name for name in nodes if name not in instead or instead[name]]
    return extract_sub_graph(found, list(roots))


def _folded(node: Any, nodes: dict[str, Any], uses: dict[str, int], outputs: set[str]) -> list[Any] | None:
    """The filters, the convolution and the bias that stand for a normalisation; None if it stays."""
    convolution = nodes.get(node.input[0])
    if convolution is None or convolution.op not in _CONVOLUTIONS or convolution.name in outputs:
        return None
    used = sum(count for text, count in uses.items() if text.lstrip("^").partition(":")[0] == convolution.name)
    others = any(text.startswith(f"{node.name}:") and not text.endswith(":0") for text in uses)
    constants = [nodes.get(text) for text in (convolution.input[1], *node.input[1:5])]
    training = "is_training" not in node.attr or node.attr["is_training"].b
    if used > 1 or others or any(each is None or each.op != "Const" for each in constants):
        return None
    if node.op.startswith("Fused") and training:
        return None
    layouts = [  # a message's map would keep what is only looked up
        each.attr["data_format"].s if "data_format" in each.attr else b"NHWC" for each in (convolution, node)
    ]
    if layouts[0] != layouts[1] or len(convolution.input) > 2 or len(node.input) > 5:
        return None
    kernel, *values = [make_ndarray(each.attr["value"].tensor) for each in constants if each is not None]
    parts = dict(zip(_NORMALISATIONS[node.op].split()[1:], values, strict=True))
    named = _EPSILON.get(node.op, "epsilon")
    epsilon = node.attr[named].f if named in node.attr else _DEFAULT_EPSILON
    scale = 1 / np.sqrt(parts["variance"].astype(np.float64) + epsilon)
    if node.op.startswith("Fused") or node.attr["scale_after_normalization"].b:
        scale = scale * parts["scale"]
    bias = parts["offset"] - parts["mean"] * scale
    dtype = as_dtype(convolution.attr["T"].type)
    channels = scale.reshape(kernel.shape[_CONVOLUTIONS[convolution.op] :])
    filters = constant_node(
        f"{convolution.name}/folded_filters", node.device, (kernel * channels).astype(dtype.np), dtype
    )
    added = constant_node(f"{node.name}/folded_bias", node.device, bias.astype(dtype.np), dtype)
    convolved = type(node)()
    convolved.CopyFrom(convolution)
    convolved.input[1] = filters.name
    sum_ = type(node)(name=node.name, op="BiasAdd", device=node.device, input=[convolution.name, added.name])
    sum_.attr["T"].type = dtype.as_datatype_enum
    sum_.attr["data_format"].s = layouts[0]
    return [filters, convolved, added, sum_]


def node_name_from_input(node_name: str) -> str:
    """The name of the node that an input ("node", "node:1", "^node") comes from."""
    name, _, port = node_name.removeprefix("^").rpartition(":")
    return name if name and port.isdigit() else node_name.removeprefix("^")


def node_from_map(node_map: dict[str, Any], name: str) -> Any:
    """The NodeDef that the input `name` comes from. Raises ValueError if the dict has none of that name."""
    found = node_map.get(node_name_from_input(name))
    if found is None:
        raise ValueError(f"No node named {name!r} found in map.")
    return found


def values_from_const(node_def: Any) -> np.ndarray:
    """The value of a Const. Raises ValueError for another node."""
    if node_def.op != "Const":
        raise ValueError(f"Node named {node_def.name!r} should be a Const op for values_from_const.")
    return make_ndarray(node_def.attr["value"].tensor)


def ensure_graph_is_valid(graph_def: Any) -> None:
    """Raises ValueError if two nodes have one name, or an input comes from no node."""
    names: set[str] = set()
    for node in graph_def.node:
        if node.name in names:
            raise ValueError(f"Duplicate node names detected for {node.name}")
        names.add(node.name)
    for node in graph_def.node:
        for text in node.input:
            if node_name_from_input(text) not in names:
                raise ValueError(f"Input for {node.name} not found: {text}")
