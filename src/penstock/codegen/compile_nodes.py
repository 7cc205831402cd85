"""Tier 1 of the engine: clusters of element-wise nodes as one compiled function each, and tuned kernels of some ops."""

from __future__ import annotations

from penstock.codegen.clusters.clusters import form_clusters
from penstock.codegen.tuned.tuned_kernels import use_tuned_kernels
from penstock.graph.step_graph import StepGraph

MODES = ("auto", "on", "off")


def compile_nodes(graph: StepGraph, mode: str = "auto") -> StepGraph:
    """`graph` with clusters and compiled kernels in it.

    mode "auto": compiled in the background, and tuned kernels used where they are faster; "on": at their first call,
    where errors of the compiler are raised; "off": `graph` itself. Raises ValueError for other modes.
    """
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, got {mode!r}")
    return graph if mode == "off" else form_clusters(use_tuned_kernels(graph, mode), mode)
