# Written by `python -m penstock.api.generate`.
from penstock.graph.codec import make_ndarray as make_ndarray
from penstock.graph.codec import make_tensor_proto as make_tensor_proto
from penstock.graph.constants import constant_value as constant_value
from penstock.graph.extraction import ops_used_by_graph_def as ops_used_by_graph_def

__all__ = [
    "make_ndarray", "make_tensor_proto", "constant_value", "ops_used_by_graph_def"
]
