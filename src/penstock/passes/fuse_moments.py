"""Computes the mean and variance of each channel in one node, as `tf.nn.moments` does before a batch normalization.

Mean(x), SquaredDifference(x, mean), Mean: three passes over x and one over the squares become two passes over x.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.analysis.thresholds import REGION_ELEMENTS
from penstock.graph.rewrite import remove_unused, rewritten
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.ops.fused_moments import CHANNEL_MOMENTS
from penstock.passes.fuse import Uses
from penstock.tensor.dtypes import float32, float64

NAMES = frozenset({"StopGradient", "Identity"})


def fuse_moments(graph: StepGraph) -> StepGraph:
    """`graph` with one node for the mean and the variance of large tensors over all axes except the last.

    Small ones are left for a region (`codegen/regions/`). Sums over the last axis do not benefit.
    """
    uses = Uses(graph)
    variances: dict[Node, Node | None] = {}
    edges: dict[Edge, Edge] = {}
    made: dict[Node, Node] = {}
    for variance in graph.nodes:
        mean = _mean_of(variance, uses)
        if mean is None or mean in made:
            continue
        node = made[mean] = _moments(mean, variance)
        variances[variance] = node
        edges[Edge(variance, 0)] = Edge(node, 1)
    return remove_unused(rewritten(graph, made, edges, variances)) if made else graph


def _mean_of(variance: Node, uses: Uses) -> Node | None:
    """The node that computes x's mean for `variance`, if that is the variance of x over the same axes."""
    if variance.op.name != "Mean" or variance.controls or not _over_rows(variance):
        return None
    squares = uses.maker(variance.inputs[0], "SquaredDifference", variance.device)
    if squares is None:
        return None
    for x, middle in (squares.inputs, squares.inputs[::-1]):
        mean = _unnamed(middle).node
        if mean.op.name == "Mean" and mean.inputs[0] == x and mean.device == variance.device and _over_rows(mean):
            return mean
    return None


def _unnamed(edge: Edge) -> Edge:
    """The value behind renamings."""
    while edge.node.op.name in NAMES and not edge.node.controls and not edge.node.inputs[0].dtype._is_ref_dtype:
        edge = edge.node.inputs[0]
    return edge


def _over_rows(node: Node) -> bool:
    """Whether a Mean of a large tensor is over all axes except the last, and keeps them."""
    value, axes = node.inputs
    dims, size = value.node.shapes[value.port].tuple, value.node.shapes[value.port].num_elements()
    if node.attrs["T"] not in (float32, float64) or not node.attrs["keep_dims"]:
        return False
    if not axes.node.is_constant or axes.node.controls:  # one that waits has an effect besides its value
        return False
    if dims is None or size is None or size <= REGION_ELEMENTS:
        return False
    rows = len(dims) - 1
    return rows > 0 and {int(axis) % len(dims) for axis in np.ravel(axes.node.attrs["value"])} == set(range(rows))


def _moments(mean: Node, variance: Node) -> Node:
    """The node that replaces `mean`, where x is already available."""
    attrs = {"T": mean.attrs["T"]}
    if "_class" in mean.attrs:
        attrs["_class"] = mean.attrs["_class"]
    dtypes, shapes = mean.dtypes + variance.dtypes, mean.shapes + variance.shapes
    return replace(mean, op=CHANNEL_MOMENTS, attrs=attrs, inputs=mean.inputs[:1], dtypes=dtypes, shapes=shapes)
