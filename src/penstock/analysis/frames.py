"""Frames: which loop each node runs in, found from the primitives of control flow (white paper section 4.4)."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock import errors
from penstock.graph.primitives import ENTERS, EXITS, MERGES, NEXT_ITERATIONS, PRIMITIVES
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph

Condition = tuple[Edge, bool]
Guard = frozenset[Condition]
NO_GUARD: Guard = frozenset()


@dataclass(eq=False, slots=True)
class Frame:
    """A loop, or (without a parent) the step itself."""

    name: str
    parent: Frame | None
    enters: list[Node] = field(default_factory=list)
    merges: list[Node] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    exits: list[Node] = field(default_factory=list)
    loop_cond: Node | None = None
    children: list[Frame] = field(default_factory=list)
    guard: Guard = NO_GUARD  # in the parent


def has_control_flow(graph: StepGraph) -> bool:
    return any(node.op.name in PRIMITIVES for node in graph.nodes)


def is_back_edge(node: Node, index: int) -> bool:
    """Whether an input closes a loop: that of a Merge, from a NextIteration."""
    return node.op.name in MERGES and node.inputs[index].node.op.name in NEXT_ITERATIONS


def is_loop_merge(node: Node) -> bool:
    """Whether a Merge gets one value in each iteration: first the one that enters, then those of earlier iterations."""
    if node.op.name not in MERGES:
        return False
    makers = [edge.node.op.name for edge in node.inputs]
    return any(name in NEXT_ITERATIONS for name in makers) or (len(makers) == 1 and makers[0] in ENTERS)


def find_frames(graph: StepGraph) -> tuple[Frame, dict[Node, Frame]]:
    """The root frame, and the frame that each node runs in (an Exit: the one that it leaves).

    InvalidArgumentError, showing the nodes, for control flow that is malformed.
    """
    root = Frame("", None)
    frames: dict[Node, Frame] = {}
    by_name: dict[tuple[Frame, str], Frame] = {}
    for node in graph.nodes:
        frame = _frame_of(node, frames, root)
        if node.op.name in ENTERS:
            name = node.attrs["frame_name"].decode(errors="backslashreplace")
            child = by_name.get((frame, name))
            if child is None:
                child = by_name[frame, name] = Frame(name, frame)
                frame.children.append(child)
            child.enters.append(node)
            frame = child
        elif node.op.name in EXITS:
            if frame.parent is None:
                raise malformed("an Exit outside any loop", node)
            frame.exits.append(node)
        elif is_loop_merge(node):
            if frame.parent is None:
                raise malformed("a NextIteration outside any loop", node)
            frame.merges.append(node)
        elif node.op.name in NEXT_ITERATIONS and frame.parent is None:
            raise malformed("a NextIteration outside any loop", node)
        elif node.op.name == "LoopCond":
            if frame.parent is None:
                raise malformed("a LoopCond outside any loop", node)
            if frame.loop_cond is not None:
                raise malformed(f"a second LoopCond in frame {frame.name!r}", node, frame.loop_cond)
            frame.loop_cond = node
        frames[node] = frame
        frame.nodes.append(node)
    _check_back_edges(graph, frames)
    for node in [*(edge.node for edge in graph.fetches), *graph.targets]:
        outside = frames[node].parent if node.op.name in EXITS else frames[node]
        if outside is not root:
            raise malformed(f"a value of the loop {frames[node].name!r} is used outside it without an Exit", node)
    return root, frames


def _frame_of(node: Node, frames: dict[Node, Frame], root: Frame) -> Frame:
    """The frame that the inputs of `node` are in: all must be in the same one."""
    found: Frame | None = None
    first: Node | None = None
    sources = [e.node for i, e in enumerate(node.inputs) if not is_back_edge(node, i)] + list(node.controls)
    for source in sources:
        frame = frames[source]
        if source.op.name in EXITS:
            frame = frame.parent or root
        if frame is root and not source.inputs and not source.controls and source.op is not FEED:
            continue  # a constant that lost its control input has the same value in every frame
        if found is not None and frame is not found:
            raise malformed(
                f"{node.name} has inputs from different frames ({found.name or 'none'!r} and {frame.name or 'none'!r}) "
                "without an Enter or Exit",
                node, *(s for s in (first, source) if s is not None),
            )  # fmt: skip
        found, first = frame, first or source
    return found or root


def _check_back_edges(graph: StepGraph, frames: dict[Node, Frame]) -> None:
    for node in graph.nodes:
        for i, edge in enumerate(node.inputs):
            if is_back_edge(node, i) and frames[edge.node] is not frames[node]:
                raise malformed("a Merge and its NextIteration are in different frames", node, edge.node)


def is_regular(frame: Frame) -> bool:
    """Whether a loop has a condition, and its variables an Enter and a NextIteration each, as `while_loop` makes them.

    TensorFlow's executor, which only moves tokens, does not check this either.
    """
    return frame.loop_cond is not None and all(
        len(merge.inputs) == 2 and sum(edge.node.op.name in ENTERS for edge in merge.inputs) == 1
        for merge in frame.merges
    )


def malformed(problem: str, *nodes: Node) -> errors.InvalidArgumentError:
    """The error for malformed control flow, with the nodes that show it."""
    lines = [f"Malformed control flow: {problem}:"]
    for node in nodes:
        lines.append(f"  {node.name} = {node.op.name}({', '.join(e.name for e in node.inputs)})")
        if node.source is not None and node.source.user_line:
            lines.append(f"    built at {node.source.user_line}")
    source = nodes[0].source if nodes else None
    return errors.InvalidArgumentError(source.node_def if source is not None else None, source, "\n".join(lines))
