"""Single nodes that have a kernel of their own beside torch's, mostly in C: they keep their op's name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from penstock.compiled import linear, lrn, pooling, winograd
from penstock.graph.device_spec import DeviceSpec
from penstock.graph.opdef import Kernel, KernelDef, OpDef
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.passes.rewrite import replace_edges
from penstock.tensor.dtypes import float32


@dataclass(frozen=True, slots=True)
class _Own:
    """fits: whether the kernel can be that of a node. make: `make(n, mode, fallback)`, where that is torch's kernel."""

    fits: Callable[[Node], bool]
    make: Callable[[Any, str, Kernel], Kernel]


_KERNELS = {
    "Conv2D": _Own(winograd.is_winograd, winograd.convolve),
    "_ConvBias": _Own(winograd.is_winograd, winograd.convolve),
    "Conv2DBackpropInput": _Own(winograd.is_winograd, winograd.by_input),
    "Conv2DBackpropFilter": _Own(winograd.is_winograd, winograd.by_filter),
    "LRN": _Own(lrn.has_common_power, lrn.normalize),
    "LRNGrad": _Own(lrn.has_common_power, lrn.normalize_grad),
    "MatMul": _Own(linear.is_large, linear.multiply),
    "MaxPool": _Own(pooling.is_plain, pooling.max_pool),
    "MaxPoolGrad": _Own(pooling.is_plain, pooling.max_pool_grad),
}


def use_own_kernels(graph: StepGraph, mode: str) -> StepGraph:
    """`graph` with such nodes replaced by ones that have both kernels; itself where there is none."""
    found = {node: replace(node, op=_variant(node.op, mode)) for node in graph.nodes if _has_own(node)}
    if not found:
        return graph
    edges = {Edge(node, 0): Edge(other, 0) for node, other in found.items()}
    nodes = [found.get(node, node) for node in graph.nodes]
    return replace_edges(StepGraph(nodes, graph.feeds, graph.fetches, graph.targets), edges, {**found})


def _has_own(node: Node) -> bool:
    own = _KERNELS.get(node.op.name)
    if own is None or node.attrs["T"] is not float32:
        return False
    on_cpu = not node.device or DeviceSpec.from_string(node.device).device_type == "CPU"
    return on_cpu and own.fits(node)


@functools.cache
def _variant(op: OpDef, mode: str) -> OpDef:
    """`op` with the two kernels before its own for float32 on CPUs."""
    torchs = op.find_kernel("CPU", {"T": float32})
    assert torchs is not None
    make = _KERNELS[op.name].make
    own: KernelDef = replace(
        torchs,
        devices=("CPU",),
        factory=lambda n: make(n, mode, torchs.factory(n)),  # type: ignore[arg-type]
        types={"T": frozenset({float32})},
    )
    return replace(op, kernels=[own, *op.kernels])
