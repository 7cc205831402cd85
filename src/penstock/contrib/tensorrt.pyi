# Written by `python -m penstock.api.generate`.
from penstock.graph.tensorrt import create_inference_graph as create_inference_graph

__all__ = [
    "create_inference_graph"
]
