"""Frozen graphs without masks (TF: tf.contrib.model_pruning.strip_pruning_vars_fn)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorboard.compat.proto import graph_pb2

from penstock.checkpoint.state import latest_checkpoint
from penstock.export import export
from penstock.graph.codec import make_tensor_proto
from penstock.graph.extraction import convert_variables_to_constants, extract_sub_graph
from penstock.graph.graph import Graph
from penstock.graph.importer import import_graph_def
from penstock.session.session import Session
from penstock.train.saver import import_meta_graph

_MASKED = "masked_weight"


@export("contrib.model_pruning.strip_pruning_vars_fn")
def strip_pruning_vars_fn(input_graph_def: Any, output_node_names: Sequence[str]) -> Any:
    """A GraphDef, whose variables are constants already, with constants for the masked weights."""
    names = [node.name for node in input_graph_def.node if _MASKED in node.name]
    with Graph().as_default(), Session() as session:
        import_graph_def(input_graph_def, name="")
        values = dict(zip(names, session.run([f"{name}:0" for name in names]), strict=True))
    found = graph_pb2.GraphDef(library=input_graph_def.library, versions=input_graph_def.versions)
    for node in input_graph_def.node:
        if node.name in values:
            constant = found.node.add(name=node.name, op="Const")
            constant.attr["dtype"].CopyFrom(node.attr["T"])
            constant.attr["value"].tensor.CopyFrom(make_tensor_proto(values[node.name]))
        else:
            found.node.add().CopyFrom(node)
    return extract_sub_graph(found, list(output_node_names))


@export("contrib.model_pruning.graph_def_from_checkpoint")
def graph_def_from_checkpoint(checkpoint_dir: str, output_node_names: Sequence[str]) -> Any:
    """The graph of the latest checkpoint in a folder, its variables as constants. Raises ValueError without one."""
    path = latest_checkpoint(checkpoint_dir)
    if path is None:
        raise ValueError(f"Could not find a checkpoint at: {checkpoint_dir}.")
    with Graph().as_default() as graph, Session() as session:
        saver = import_meta_graph(f"{path}.meta", clear_devices=True)
        if saver is not None:  # the graph has variables
            saver.restore(session, path)
        return convert_variables_to_constants(session, graph.as_graph_def(), list(output_node_names))
