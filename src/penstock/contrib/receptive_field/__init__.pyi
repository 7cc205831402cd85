# Written by `python -m penstock.api.generate`.
from penstock.contrib.receptive_field.field import compute_receptive_field_from_graph_def as compute_receptive_field_from_graph_def
from penstock.contrib.receptive_field.order import get_compute_order as get_compute_order

__all__ = [
    "compute_receptive_field_from_graph_def", "get_compute_order"
]
