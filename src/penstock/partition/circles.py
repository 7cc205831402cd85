"""Checks that the parts of a step do not wait for each other in a cycle."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from penstock import errors
from penstock.graph.step_graph import Node
from penstock.graph.transfer_ops import RECVS, SENDS
from penstock.graph.verify import BACK

if TYPE_CHECKING:
    from penstock.partition.partition import Partition


def check_for_circles(parts: Iterable[Partition]) -> None:
    """Raise InternalError, naming the nodes, if a Send depends on its own Recv."""
    nodes = list(dict.fromkeys(node for part in parts for node in part.graph.nodes))
    sends = {node.attrs["key"]: node for node in nodes if node.op.name in SENDS}
    before: dict[Node, list[Node]] = {}
    after: dict[Node, list[Node]] = {}
    for node in nodes:
        found = [*(e.node for e in node.inputs if e.node.op.name not in BACK), *node.controls]
        if node.op.name in RECVS:
            found.append(sends[node.attrs["key"]])
        before[node] = found
        for source in found:
            after.setdefault(source, []).append(node)
    missing = {node: len(found) for node, found in before.items()}
    ready = [node for node, count in missing.items() if not count]
    while ready:
        node = ready.pop()
        del missing[node]
        for follower in after.get(node, ()):
            missing[follower] -= 1
            if not missing[follower]:
                ready.append(follower)
    if missing:
        raise errors.InternalError(None, None, _text(_circle(before, missing)))


def _circle(before: dict[Node, list[Node]], stuck: dict[Node, int]) -> list[Node]:
    """Nodes each of which waits for the next, and the last for the first."""
    way: dict[Node, None] = {}
    node = next(iter(stuck))
    while node not in way:
        way[node] = None
        node = next(source for source in before[node] if source in stuck)
    found = list(way)
    return found[found.index(node) :]


def _text(circle: list[Node]) -> str:
    lines = ["The parts of a step wait for each other in a circle:"]
    lines += [
        f"  {a.name} on {a.device} waits for {b.name}" for a, b in zip(circle, circle[1:] + circle[:1], strict=True)
    ]
    return "\n".join(lines)
