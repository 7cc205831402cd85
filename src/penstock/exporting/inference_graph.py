"""The graph that is exported: what fetches need of feeds, without functions; what depends on constants is computed."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.exporting.weights import read_variables, use_values, variables_of
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.rewrite import remove_unused, rewritten
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.passes.common_subexpressions import merge_common_subexpressions
from penstock.passes.fold_branches import fold_branches
from penstock.passes.fold_constants import fold_constants
from penstock.passes.infer_shapes import infer_shapes
from penstock.passes.inline_functions import inline_functions
from penstock.passes.prune import prune
from penstock.passes.split_identities import split_identities
from penstock.passes.unused_stacks import drop_unused_stacks
from penstock.tensor.dtypes import bool as boolean
from penstock.tensor.shapes import TensorShape

_LOG = logging.getLogger("penstock")


def choose_inference(graph: StepGraph, tells: bool) -> StepGraph:
    """`graph` with what programs feed to tell training from inference as constants: placeholders of a bool that is not
    fed are False, which is said if `tells`, and those with a default have it."""
    instead: dict[Node, Node] = {}
    for node in graph.nodes:
        if node.op.name == "PlaceholderWithDefault":
            instead[node] = replace(node, op=get_op("Identity"), attrs={"T": node.dtypes[0]})
        elif node.op.name in ("Placeholder", "PlaceholderV2") and node.dtypes[0] == boolean:
            if tells:
                _LOG.warning("%s is not among the feeds: it is False in what is exported", node.name)
            attrs = {"value": np.array(False), "dtype": boolean}
            instead[node] = replace(node, op=get_op("Const"), attrs=attrs, shapes=(TensorShape([]),))
    return rewritten(graph, instead)


def settle_reshapes(graph: StepGraph) -> StepGraph:
    """`graph` with constant dimensions for each Reshape to a shape of which one dimension at most is unknown, so that
    it is not computed from the sizes of tensors."""
    instead: dict[Node, Node] = {}
    constants: dict[Node, Node] = {}
    for node in graph.nodes:
        dims = node.shapes[0].as_list() if node.op.name == "Reshape" and node.shapes[0].ndims else []
        if dims.count(None) == 1 and 0 not in dims and not node.inputs[1].node.is_constant:
            value = np.array([-1 if dim is None else dim for dim in dims], node.inputs[1].dtype.as_numpy_dtype)
            attrs, shape = {"value": value, "dtype": node.inputs[1].dtype}, TensorShape(value.shape)
            settled = replace(
                node, name=f"{node.name}/settled", op=get_op("Const"), attrs=attrs, inputs=(), controls=(),
                dtypes=(node.inputs[1].dtype,), shapes=(shape,),
            )  # fmt: skip
            constants[node] = settled
            instead[node] = replace(node, inputs=(node.inputs[0], Edge(settled, 0)))
    nodes = [made for node in graph.nodes for made in ((constants[node], node) if node in constants else (node,))]
    return remove_unused(rewritten(graph, instead, nodes=nodes)) if instead else graph


def fold(graph: StepGraph) -> StepGraph:
    """Computes what depends on constants; a branch that is taken may have the predicate of another."""
    while True:
        known = fold_constants(graph)
        graph = fold_branches(known)
        if graph is known:
            return graph


_PASSES = (
    infer_shapes,
    fold,
    settle_reshapes,
    drop_unused_stacks,
    merge_common_subexpressions,
    split_identities,
)


def pruned_graph(
    feeds: Sequence[Tensor],
    fetches: Sequence[Tensor],
    shapes: Sequence[tuple[int | None, ...]] = (),
    tells: bool = False,
) -> StepGraph:
    """What `fetches` need, with functions inlined. shapes: as for `prune`. tells: whether to log which placeholders
    have constants, where an export begins."""
    return choose_inference(inline_functions(prune(list(feeds), list(fetches), [], shapes), all_calls=True), tells)


def simplified(graph: StepGraph) -> StepGraph:
    """The passes that leave TensorFlow's ops: no fused ones, which others do not know."""
    for transform in _PASSES:
        graph = transform(graph)
    return graph


def constant_graph(feeds: Sequence[Tensor], fetches: Sequence[Tensor], session: Any) -> StepGraph:
    """The graph with constants of the values that variables have in `session`."""
    graph = pruned_graph(feeds, fetches, tells=True)
    return simplified(use_values(graph, read_variables(session, variables_of(graph))))
