"""The opposite of `partition`: parts as one graph, in which values go straight from sender to receiver."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.graph.rewrite import rewritten
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.graph.transfer_ops import RECVS, SENDS, TRANSFERS
from penstock.partition.partition import Partition


def join(parts: Iterable[Partition]) -> StepGraph:
    """All that the parts run, except transfers, for the simulator, which counts these itself.

    Nodes that several parts have, such as feeds and constants, are there several times.
    """
    graphs = [part.graph for part in parts]
    nodes = [node for graph in graphs for node in graph.nodes]
    sends = {node.attrs["key"]: node for node in nodes if node.op.name in SENDS}
    edges: dict[Edge, Edge] = {}
    controls: dict[Node, Node | None] = {node: None for node in nodes if node.op.name in TRANSFERS}
    for node in nodes:
        send = sends.get(node.attrs["key"]) if node.op.name in RECVS else None
        if send is not None:
            edges |= {Edge(node, 0): edge for edge in send.inputs}
            controls[node] = send.controls[0] if not send.inputs and send.controls else None
    whole = StepGraph(nodes, [], [edge for graph in graphs for edge in graph.fetches])
    return rewritten(whole, {}, edges, controls, [node for node in nodes if node.op.name not in TRANSFERS])
