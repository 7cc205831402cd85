"""Tier 1 of the engine: clusters of element-wise nodes as one compiled C function each, and some ops' own kernels in C.

`apply` is a pass over a placed graph; what it makes runs by itself, with `make_cluster_kernel` as its kernel. See
docs/architecture.md.
"""

from __future__ import annotations

from penstock.compiled.clusters import form_clusters
from penstock.compiled.kernel import make_cluster_kernel
from penstock.compiled.own_kernels import use_own_kernels
from penstock.graph.step_graph import StepGraph

MODES = ("auto", "on", "off")


def apply(graph: StepGraph, mode: str = "auto") -> StepGraph:
    """`graph` with clusters and compiled kernels in it.

    mode "auto": compiled in the background, and own kernels used where they are faster; "on": at their first call, and
    errors of the compiler are raised; "off": `graph` itself. ValueError for another mode.
    """
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, got {mode!r}")
    return graph if mode == "off" else form_clusters(use_own_kernels(graph, mode), mode)


__all__ = ["MODES", "apply", "make_cluster_kernel"]
