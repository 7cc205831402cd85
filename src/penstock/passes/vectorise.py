"""The function of many elements at once that a function of one element stands for, where its ops allow it."""

from __future__ import annotations

from penstock.graph.graph_function import GraphFunction


def vectorise(function: GraphFunction) -> GraphFunction | None:
    return None
