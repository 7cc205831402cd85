# Written by `python -m penstock.api.generate`.
from penstock.graph.extraction import convert_variables_to_constants as convert_variables_to_constants
from penstock.graph.extraction import extract_sub_graph as extract_sub_graph
from penstock.graph.extraction import must_run_on_cpu as must_run_on_cpu
from penstock.graph.extraction import remove_training_nodes as remove_training_nodes
from penstock.graph.extraction import tensor_shape_from_node_def_name as tensor_shape_from_node_def_name
from penstock.graph.importer import import_graph_def as import_graph_def

__all__ = [
    "convert_variables_to_constants", "extract_sub_graph", "must_run_on_cpu", "remove_training_nodes",
    "tensor_shape_from_node_def_name", "import_graph_def"
]
