"""Reduced precision: products and convolutions use 16-bit floats, sensitive ops float32.

The white paper drops bits only in values sent between machines (section 5.5), but processors now multiply 16-bit floats
several times as fast as float32. Nodes are coloured like TensorFlow's auto_mixed_precision, by four lists of ops.
Variables (hence checkpoints), optimizer slots, feeds and fetches stay float32. Products add up in float32: torch's
kernels round once, when a result is written.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from tensorboard.compat.proto.rewriter_config_pb2 import RewriterConfig

from penstock.analysis.sizes import Sizes
from penstock.graph.device_spec import DeviceSpec
from penstock.graph.opdef import OpDef
from penstock.graph.rewrite import copy, remove_unused, rewritten
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.graph.traits import Bits16
from penstock.ops.cast import CAST
from penstock.tensor.dtypes import DType, bfloat16, float16, float32

# --- which ops ------------------------------------------------------------------------------------------

_REDUCIBLE = ("allow", "infer", "clear")
"""The colours of ops that may be reduced. Depthwise convolutions, which are bound by memory, are "infer": alone they
gain nothing. Ops without a colour stay unchanged."""


def _colour(op: OpDef) -> Bits16:
    return op.traits.bits16


LEAST_FLOPS = 2e7
FLOPS_PER_ELEMENT = 32
"""A product is worth its casts if it takes this many operations, in total and for each element that it reads and
writes. Measured on two cores with AVX-512 BF16, where large products of bfloat16 take half the time: with fewer
operations, starting two or three casts on both cores costs as much as the product saves."""


# --- the pass -------------------------------------------------------------------------------------------


def reduce_precision(graph: StepGraph, dtypes: Mapping[str, DType], sizes: Sizes | None = None) -> StepGraph:
    """The graph with large products, and nodes between them, computed in 16-bit floats.

    `dtypes` maps each type of device ("CPU", "GPU") to a float type; nodes on other types of devices stay unchanged.
    Nodes have been placed. Each value is cast once, right before its first use; constants are cast before the step, and
    a loop's inputs from outside before the loop. Fetched values keep their dtypes.
    """
    able: dict[Node, DType] = {}
    for node in graph.nodes:
        if _colour(node.op) in _REDUCIBLE:
            device = DeviceSpec.from_string(node.device).device_type or ""
            if device in dtypes and _is_able(node, device, dtypes[device]):
                able[node] = dtypes[device]
    painted = _paint(graph, able, sizes or Sizes())
    if not painted:
        return graph
    own = {node: copy(node) for node in graph.nodes}
    graph = rewritten(graph, own)
    painted = {own[node]: dtype for node, dtype in painted.items()}
    fetched = [edge.dtype.base_dtype for edge in graph.fetches]
    casts = _Casts()
    for node in graph.nodes:
        node.inputs = tuple(map(casts.of, node.inputs, _wanted(node, painted.get(node))))
        if node in painted:
            node.attrs = {**node.attrs, "T": painted[node]}
            node.dtypes = tuple(d for arg in node.op.outputs for d in arg.dtypes(node.attrs))
        casts.nodes.append(node)
    fetches = [casts.of(edge, dtype) for edge, dtype in zip(graph.fetches, fetched, strict=True)]
    return remove_unused(StepGraph(casts.nodes, graph.feeds, fetches, graph.targets))


def _is_able(node: Node, device: str, dtype: DType) -> bool:
    """Whether a node computes with float32 and could compute with `dtype`. Nodes that read a variable's buffer cannot:
    a cast before them would read the variable at a different time."""
    if node.attrs["T"] != float32 or any(edge.dtype._is_ref_dtype for edge in node.inputs):
        return False
    allowed = node.op.attrs["T"].allowed
    legal = allowed is None or dtype in allowed
    return legal and node.op.find_kernel(device, {**node.attrs, "T": dtype}) is not None


def _is_worth_it(node: Node, sizes: Sizes) -> bool:
    outputs = [Edge(node, port) for port in range(len(node.dtypes))]
    takes, gives = [sizes.dims(edge) for edge in node.inputs], [sizes.dims(edge) for edge in outputs]
    flops = node.op.flops_fn(node, takes, gives) if node.op.flops_fn is not None else 0.0
    return flops >= max(LEAST_FLOPS, FLOPS_PER_ELEMENT * sum(map(math.prod, (*takes, *gives))))


def _wanted(node: Node, dtype: DType | None) -> list[DType]:
    """The dtypes of a node's inputs, with `dtype` if it is reduced."""
    return [
        dtype if dtype is not None and arg.type_attr == "T" else given.base_dtype
        for arg in node.op.inputs
        for given in arg.dtypes(node.attrs)
    ]


class _Casts:
    """Values in other dtypes, each made once, and `nodes`: the graph as far as it has been rewritten."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._made: dict[tuple[Edge, DType], Edge] = {}

    def of(self, edge: Edge, dtype: DType) -> Edge:
        if edge.dtype.base_dtype == dtype:
            return edge
        if (edge, dtype) not in self._made:
            self._made[edge, dtype] = Edge(self._cast(edge, dtype), 0)
        return self._made[edge, dtype]

    def _cast(self, edge: Edge, dtype: DType) -> Node:
        node, name = edge.node, f"{edge.name}/{dtype.name}"
        op, inputs, controls = node.op, node.inputs, node.controls
        if node.is_constant:
            attrs = {"value": node.attrs["value"].astype(dtype.np), "dtype": dtype}
        elif op.name == "Enter" and node.attrs["is_constant"]:
            attrs, inputs = {**node.attrs, "T": dtype}, (self.of(inputs[0], dtype),)
        else:
            op, inputs, controls = CAST, (edge,), ()
            attrs = {"SrcT": edge.dtype.base_dtype, "DstT": dtype, "Truncate": False}
        shape = node.shapes[edge.port]
        made = Node(name, op, attrs, inputs, controls, node.device, (dtype,), (shape,), node.source)
        self.nodes.append(made)
        return made


# --- painting -------------------------------------------------------------------------------------------


def _paint(graph: StepGraph, able: Mapping[Node, DType], sizes: Sizes) -> dict[Node, DType]:
    """The nodes to reduce, in four strokes (as TensorFlow's AutoMixedPrecision paints a graph)."""
    before = {node: [edge.node for edge in node.inputs] for node in graph.nodes}
    after: dict[Node, list[Node]] = {node: [] for node in graph.nodes}
    for node, takes in before.items():
        for other in takes:
            after[other].append(node)
    beside = {node: [*before[node], *after[node]] for node in graph.nodes}

    def of(colour: Bits16) -> set[Node]:
        return {node for node in graph.nodes if _colour(node.op) == colour}

    # 1. Products that gain from it.
    painted = {node for node in of("allow") if node in able and _is_worth_it(node, sizes)}
    # 2. Sensitive ops ("deny") spread forward, through "clear" ops only if they lead to an "infer" op.
    denied, clear = of("deny"), of("clear")
    spreads = _reached(denied | of("infer"), before, clear)
    denied |= _reached(denied, after, spreads)
    # 3. Nodes between two painted nodes.
    free = {node for node in able if _colour(node.op) != "allow"} - denied
    painted |= _reached(painted, after, free) & _reached(painted, before, free)
    # 4. "Clear" nodes next to painted ones.
    painted |= _reached(painted, beside, clear & free)
    return {node: able[node] for node in graph.nodes if node in painted}


def _reached(start: Collection[Node], follow: Mapping[Node, Iterable[Node]], through: Collection[Node]) -> set[Node]:
    """`start`, and the nodes of `through` that are reachable from there through nodes of `through` only."""
    found = set(start)
    pending = list(start)
    while pending:
        for node in follow[pending.pop()]:
            if node in through and node not in found:
                found.add(node)
                pending.append(node)
    return found


# --- what sessions enable ------------------------------------------------------------------------------


def use_bfloat16(graph: StepGraph, sizes: Sizes) -> StepGraph:
    """`reduce_precision` to bfloat16 wherever there are kernels: it has float32's range, so values do not overflow."""
    return reduce_precision(graph, {"CPU": bfloat16, "GPU": bfloat16}, sizes)


def use_float16(graph: StepGraph, sizes: Sizes) -> StepGraph:
    """`reduce_precision` to float16 on GPUs; training also needs loss scaling (train/loss_scale.py)."""
    return reduce_precision(graph, {"GPU": float16}, sizes)


def emulate_float16(graph: StepGraph, sizes: Sizes) -> StepGraph:
    """Emulates the numerical effect of `use_float16` on CPUs, which are not faster for it."""
    return reduce_precision(graph, {"CPU": float16}, sizes)


_for_new_sessions = False


def set_for_new_sessions(on: bool) -> bool:
    """Set whether sessions use float16 if their ConfigProto does not say; returns the previous setting."""
    global _for_new_sessions
    before, _for_new_sessions = _for_new_sessions, on
    return before


def asked_for(rewrites: Any) -> set[str]:
    """The names of the passes above that a RewriterConfig enables."""
    default = RewriterConfig.ON if _for_new_sessions else RewriterConfig.OFF
    float16_wanted = rewrites.auto_mixed_precision or default
    wanted = {
        "use_float16": float16_wanted == RewriterConfig.ON,
        "emulate_float16": rewrites.auto_mixed_precision_cpu == RewriterConfig.ON,
        "use_bfloat16": RewriterConfig.ON
        in (rewrites.auto_mixed_precision_mkl, rewrites.auto_mixed_precision_onednn_bfloat16),
    }
    return {name for name, on in wanted.items() if on}
