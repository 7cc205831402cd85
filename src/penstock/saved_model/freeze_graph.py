"""A graph in a file and the variables of its checkpoint as one GraphDef of constants (TF: tools.freeze_graph)."""

from __future__ import annotations

from typing import Any

from penstock import gfile
from penstock.graph.extraction import convert_variables_to_constants
from penstock.graph.graph import Graph
from penstock.graph.importer import import_graph_def
from penstock.graph.opdef import get_op
from penstock.ops.basic import placeholder
from penstock.saved_model.loader import chosen_meta_graph, load
from penstock.session.session import Session
from penstock.train.checkpoint_utils import load_checkpoint
from penstock.train.meta_graph import read_graph_file, read_meta_graph_file
from penstock.train.saver import Saver, import_meta_graph

_ASSIGNMENTS = {"Variable": "Assign", "VariableV2": "Assign", "VarHandleOp": "AssignVariableOp"}


def freeze_graph(
    input_graph: str,
    input_saver: str,
    input_binary: bool,
    input_checkpoint: str,
    output_node_names: str,
    restore_op_name: str | None,
    filename_tensor_name: str | None,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph: str | None = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: str = "serve",
    checkpoint_version: int = 2,
) -> Any:
    """Write what `output_node_names` need of a graph to `output_graph`, with variables as constants; returns it.

    The graph is that of a GraphDef in a file (binary or text, whatever `input_binary` says), with the variables of
    `input_checkpoint`, a MetaGraphDef with it, or that of a SavedModel. Names are separated by commas. Savers are found
    in the checkpoint: `input_saver`, `restore_op_name` and `filename_tensor_name` are not used.
    """
    graph_def = meta_graph_def = None
    tags = _names(saved_model_tags)
    if input_saved_model_dir:
        graph_def = chosen_meta_graph(input_saved_model_dir, tags).graph_def
    elif input_meta_graph:
        meta_graph_def = read_meta_graph_file(input_meta_graph)
    elif output_node_names:
        graph_def = read_graph_file(input_graph)
    with Graph().as_default():
        return freeze_graph_with_def_protos(
            graph_def,
            None,
            input_checkpoint,
            output_node_names,
            restore_op_name,
            filename_tensor_name,
            output_graph,
            clear_devices,
            initializer_nodes,
            variable_names_whitelist,
            variable_names_blacklist,
            meta_graph_def,
            input_saved_model_dir,
            tags,
            checkpoint_version,
        )


def freeze_graph_with_def_protos(
    input_graph_def: Any,
    input_saver_def: Any,
    input_checkpoint: str,
    output_node_names: str,
    restore_op_name: str | None,
    filename_tensor_name: str | None,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph_def: Any = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: Any = None,
    checkpoint_version: int = 2,
) -> Any:
    """`freeze_graph` of a GraphDef or a MetaGraphDef, which is added to the default graph; returns the frozen GraphDef.

    With `input_saver_def` (a SaverDef), its ops read the checkpoint. A SavedModel is loaded from its folder and
    `saved_model_tags`; `input_graph_def` is its graph. Raises ValueError if no node is to be computed.
    """
    outputs = _names(output_node_names)
    if not outputs:
        raise ValueError("output_node_names must name the nodes that the frozen graph is to compute, with commas.")
    graph_def = input_graph_def if input_meta_graph_def is None else input_meta_graph_def.graph_def
    _clear(graph_def, clear_devices)
    if input_graph_def is not None and not input_saved_model_dir:
        import_graph_def(input_graph_def, name="")
    with Session() as session:
        if input_saver_def is not None:
            Saver(saver_def=input_saver_def, write_version=checkpoint_version).restore(session, input_checkpoint)
        elif input_meta_graph_def is not None:
            saver = import_meta_graph(input_meta_graph_def, clear_devices=clear_devices)
            if saver is not None:  # None without variables
                saver.restore(session, input_checkpoint)
        elif input_saved_model_dir:
            load(session, saved_model_tags or [], input_saved_model_dir, clear_devices=clear_devices)
        else:
            _restore(session, input_checkpoint)
        if initializer_nodes:
            session.run(_names(initializer_nodes))
        frozen = convert_variables_to_constants(
            session,
            graph_def,
            outputs,
            _names(variable_names_whitelist) or None,
            _names(variable_names_blacklist) or None,
        )
    if output_graph:
        with gfile.GFile(output_graph, "wb") as file:
            file.write(frozen.SerializeToString())
    return frozen


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _clear(graph_def: Any, clear_devices: bool) -> None:
    if clear_devices:
        for node in graph_def.node:
            node.device = ""


def _restore(session: Session, checkpoint: str) -> None:
    """The variables of a graph without collections, by the names of their nodes."""
    reader = load_checkpoint(checkpoint)
    given = {}
    for op in session.graph.get_operations():
        if op.type in _ASSIGNMENTS and reader.has_tensor(op.name):
            value = placeholder(op.get_attr("dtype"))
            given[get_op(_ASSIGNMENTS[op.type])(op.outputs[0], value)] = value, reader.array(op.name)
    session.run(list(given), dict(given.values()))
