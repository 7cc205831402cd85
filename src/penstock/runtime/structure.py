"""Structured control flow, recovered from the primitives: loops become `while`, conditionals become `if`.

Each node gets a *frame* (the loop that it runs in) and a *guard*: the conditions under which it is alive, as a set of
(predicate, side). A Switch adds a condition to what follows it, a Merge of the two sides takes it away again, and
a loop begins with none of its own. Nodes of one frame are then put in an order that keeps those of one guard
together, and blocks open and close as the guard changes. What does not fit the pattern (a Merge of something else
than the two sides of one predicate, say) is `Unstructured`, and left to the dataflow executor.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock import errors
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.ops.control_flow import ENTERS, EXITS, MERGES, NEXT_ITERATIONS, PRIMITIVES, SWITCHES

Condition = tuple[Edge, bool]
Guard = frozenset[Condition]
NO_GUARD: Guard = frozenset()


class Unstructured(Exception):
    """The control flow has no structured form; the message says why."""


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


@dataclass(eq=False, slots=True)
class MergeSide:
    """The Merge `node` takes its `index`-th input: an assignment at the end of a branch."""

    node: Node
    index: int


@dataclass(eq=False, slots=True)
class Branch:
    """`body` runs if `pred` is `side`."""

    pred: Edge
    side: bool
    body: list[Statement]


@dataclass(eq=False, slots=True)
class Loop:
    """`before` runs at each test of the condition, `body` after each test that holds."""

    frame: Frame
    before: list[Statement]
    body: list[Statement]


Statement = Node | MergeSide | Branch | Loop


def has_control_flow(graph: StepGraph) -> bool:
    return any(node.op.name in PRIMITIVES for node in graph.nodes)


def is_back_edge(node: Node, index: int) -> bool:
    """Whether an input closes a loop: a Merge's, from a NextIteration."""
    return node.op.name in MERGES and node.inputs[index].node.op.name in NEXT_ITERATIONS


def is_loop_merge(node: Node) -> bool:
    return node.op.name in MERGES and any(e.node.op.name in ENTERS | NEXT_ITERATIONS for e in node.inputs)


# --- frames ---------------------------------------------------------------------------------------------


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
            name = node.attrs["frame_name"].decode()
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
    """The frame that the inputs of `node` are in: one for all of them."""
    found: Frame | None = None
    first: Node | None = None
    sources = [e.node for i, e in enumerate(node.inputs) if not is_back_edge(node, i)] + list(node.controls)
    for source in sources:
        frame = frames[source]
        if source.op.name in EXITS:
            frame = frame.parent or root
        if frame is root and not source.inputs and not source.controls and source.op is not FEED:
            continue  # a constant that lost its control input is the same everywhere
        if found is not None and frame is not found:
            raise malformed(
                f"inputs of different frames ({found.name or 'none'!r} and {frame.name or 'none'!r}) "
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
    for frame in dict.fromkeys(frames.values()):
        if frame.parent is not None and frame.merges and frame.loop_cond is None:
            raise malformed(f"the loop {frame.name!r} has no LoopCond", *frame.merges[:2])


def malformed(problem: str, *nodes: Node) -> errors.InvalidArgumentError:
    """The error for control flow that makes no sense, with the nodes that show it."""
    lines = [f"Malformed control flow: {problem}:"]
    for node in nodes:
        lines.append(f"  {node.name} = {node.op.name}({', '.join(e.name for e in node.inputs)})")
        if node.source is not None and node.source.user_line:
            lines.append(f"    built at {node.source.user_line}")
    source = nodes[0].source if nodes else None
    return errors.InvalidArgumentError(source.node_def if source is not None else None, source, "\n".join(lines))


# --- guards ---------------------------------------------------------------------------------------------


class Guards:
    """The guard of each node, and of each value: the conditions under which it is alive within its frame."""

    def __init__(self, graph: StepGraph, frames: dict[Node, Frame], strict: bool = True) -> None:
        """Without `strict`, what has no structured form gets a condition of its own instead of an exception."""
        self.frames = frames
        self._strict = strict
        self.of: dict[Node, Guard] = {}
        self.sides: dict[Node, tuple[Edge, int]] = {}
        """For a Merge of two branches: its predicate, and which input is the true side's."""
        for node in graph.nodes:
            self.of[node] = self._guard(node)

    def edge(self, edge: Edge) -> Guard:
        """The guard of a value in the frame of its consumers."""
        guard = self.of[edge.node]
        if edge.node.op.name in SWITCHES:
            return guard | {(predicate(edge.node.inputs[1]), edge.port == 1)}
        if edge.node.op.name in EXITS:
            return self.frames[edge.node].guard
        return guard

    def _guard(self, node: Node) -> Guard:
        name = node.op.name
        if name in ENTERS:
            frame = self.frames[node]
            frame.guard = frame.guard | self._union(node)
            return NO_GUARD
        if is_loop_merge(node):
            return NO_GUARD
        if name in MERGES:
            return self._merged(node)
        if name == "ControlTrigger":  # never dead: it runs when what its control inputs have in common does
            guards = [self._control(c) for c in node.controls]
            return guards[0].intersection(*guards[1:]) if guards else NO_GUARD
        guard = self._union(node)
        if name in EXITS:
            cond = self.frames[node].loop_cond
            if self._strict and (cond is None or guard != {(Edge(cond, 0), False)}):
                raise Unstructured(f"{node.name} leaves its loop elsewhere than at the loop's condition")
        return guard

    def _union(self, node: Node) -> Guard:
        guard = NO_GUARD.union(*(self.edge(e) for e in node.inputs), *(self._control(c) for c in node.controls))
        if self._strict:
            for pred, side in guard:
                if (pred, not side) in guard:
                    raise Unstructured(f"{node.name} needs both sides of {pred.name}, so it never runs")
        return guard

    def _control(self, node: Node) -> Guard:
        return self.frames[node].guard if node.op.name in EXITS else self.of[node]

    def _merged(self, node: Node) -> Guard:
        if not self._strict:
            return frozenset({(Edge(node, 0), True)})
        if len(node.inputs) != 2:
            raise Unstructured(f"{node.name} merges {len(node.inputs)} inputs")
        a, b = (self.edge(edge) for edge in node.inputs)
        for pred, side in a:
            if (pred, not side) in b and a - {(pred, side)} == b - {(pred, not side)}:
                guard = a - {(pred, side)}
                controls = NO_GUARD.union(*(self._control(c) for c in node.controls))
                if controls - guard:
                    raise Unstructured(f"{node.name} waits for nodes of a branch")
                self.sides[node] = (pred, 0 if side else 1)
                return guard
        raise Unstructured(f"{node.name} merges other things than the two sides of one condition")


def predicate(edge: Edge) -> Edge:
    """The tensor that decides: identities lead back to it, so that two names of one condition are one."""
    while edge.node.op.name == "Identity" and not edge.node.inputs[0].dtype._is_ref_dtype:
        edge = edge.node.inputs[0]
    return edge


# --- statements -----------------------------------------------------------------------------------------


def structured(graph: StepGraph) -> tuple[list[Statement], Guards]:
    """The step as nested statements, and the guards of its values. Raises `Unstructured` where it has no such form."""
    root, frames = find_frames(graph)
    guards = Guards(graph, frames)
    position = {node: i for i, node in enumerate(graph.nodes)}
    return _Region(root, guards, position).statements(root.nodes, root.children), guards


def execution_order(statements: list[Statement]) -> Iterator[tuple[Node, bool]]:
    """The nodes in the order in which they run, and whether in a loop. A Merge may appear once for each side."""
    return _execution_order(statements, False)


def _execution_order(statements: list[Statement], in_loop: bool) -> Iterator[tuple[Node, bool]]:
    for statement in statements:
        match statement:
            case Node():
                yield statement, in_loop
            case MergeSide():
                yield statement.node, in_loop
            case Branch():
                yield from _execution_order(statement.body, in_loop)
            case Loop():
                frame = statement.frame
                yield from ((node, in_loop) for node in frame.enters)
                yield from ((node, True) for node in frame.merges)  # what a loop takes is alive to its end
                yield from _execution_order(statement.before, True)
                yield from _execution_order(statement.body, True)
                yield from ((node, in_loop) for node in frame.exits)


Item = Node | MergeSide | Frame


class _Region:
    """One frame on its way to statements."""

    def __init__(self, frame: Frame, guards: Guards, position: dict[Node, int]) -> None:
        self._frame, self._guards, self._position = frame, guards, position

    def statements(self, nodes: list[Node], loops: list[Frame], assumed: Guard = NO_GUARD) -> list[Statement]:
        """`nodes` of the frame and `loops` in it, in order, as nested blocks.

        Conditions in `assumed` are known to hold.
        """
        items = self._items(nodes) + loops
        paths = {item: self._path(self._item_guard(item) - assumed) for item in items}
        block: list[Statement] = []
        stack: list[tuple[Condition | None, list[Statement]]] = [(None, block)]
        for item in self._ordered(items, paths):
            path = paths[item]
            common = 0
            while common < min(len(path), len(stack) - 1) and stack[common + 1][0] == path[common]:
                common += 1
            del stack[common + 1 :]
            for condition in path[common:]:
                branch = Branch(condition[0], condition[1], [])
                stack[-1][1].append(branch)
                stack.append((condition, branch.body))
            stack[-1][1].append(self._loop(item) if isinstance(item, Frame) else item)
        return block

    def _items(self, nodes: list[Node]) -> list[Item]:
        items: list[Item] = []
        for node in nodes:
            if node in self._guards.sides:
                items += [MergeSide(node, 0), MergeSide(node, 1)]
            elif node.op.name not in ENTERS | EXITS and not is_loop_merge(node):  # those are part of their loop
                items.append(node)
        return items

    def _item_guard(self, item: Item) -> Guard:
        if isinstance(item, MergeSide):
            return self._guards.edge(item.node.inputs[item.index])
        return item.guard if isinstance(item, Frame) else self._guards.of[item]

    def _path(self, guard: Guard) -> tuple[Condition, ...]:
        """The conditions in the order in which they are known."""
        return tuple(sorted(guard, key=lambda c: (self._position[c[0].node], c[0].port, c[1])))

    def _ordered(self, items: list[Item], paths: dict[Item, tuple[Condition, ...]]) -> list[Item]:
        """An order that respects all edges and changes the path as rarely as a greedy choice can."""
        waiting, consumers = self._dependencies(items)
        ready: dict[tuple[Condition, ...], list[tuple[int, int]]] = {}
        numbered = {item: (self._order_key(item), i) for i, item in enumerate(items)}
        by_index = dict(enumerate(items))
        for item in items:
            if not waiting[item]:
                heapq.heappush(ready.setdefault(paths[item], []), numbered[item])
        current: tuple[Condition, ...] = ()
        done: list[Item] = []
        while ready:
            path = current if current in ready else min(ready, key=lambda p: (-_shared(p, current), ready[p][0]))
            item = by_index[heapq.heappop(ready[path])[1]]
            if not ready[path]:
                del ready[path]
            current = path
            done.append(item)
            for consumer in consumers.get(item, ()):
                waiting[consumer] -= 1
                if not waiting[consumer]:
                    heapq.heappush(ready.setdefault(paths[consumer], []), numbered[consumer])
        if len(done) < len(items):
            raise Unstructured(f"a cycle in frame {self._frame.name!r}")
        return done

    def _order_key(self, item: Item) -> int:
        if isinstance(item, Frame):
            return min(self._position[node] for node in item.enters)
        return self._position[item.node if isinstance(item, MergeSide) else item]

    def _dependencies(self, items: list[Item]) -> tuple[dict[Item, int], dict[Item, list[Item]]]:
        makers: dict[Node, list[Item]] = {}
        for item in items:
            if isinstance(item, MergeSide):
                makers.setdefault(item.node, []).append(item)
            elif isinstance(item, Frame):
                for node in item.exits:
                    makers.setdefault(node, []).append(item)
            else:
                makers[item] = [item]
        waiting: dict[Item, int] = dict.fromkeys(items, 0)
        consumers: dict[Item, list[Item]] = {}
        for item in items:
            needs = {maker for node in self._needs(item) for maker in makers.get(node, ()) if maker is not item}
            waiting[item] = len(needs)
            for need in needs:
                consumers.setdefault(need, []).append(item)
        return waiting, consumers

    def _needs(self, item: Item) -> list[Node]:
        if isinstance(item, MergeSide):
            return [item.node.inputs[item.index].node, *item.node.controls, self._guards.sides[item.node][0].node]
        if isinstance(item, Frame):
            return [n for enter in item.enters for n in (*(e.node for e in enter.inputs), *enter.controls)]
        needs = [e.node for i, e in enumerate(item.inputs) if not is_back_edge(item, i)] + list(item.controls)
        return needs + [pred.node for pred, _ in self._guards.of[item]]

    def _loop(self, frame: Frame) -> Loop:
        cond = frame.loop_cond
        if cond is None or self._guards.of[cond]:
            raise Unstructured(f"the condition of loop {frame.name!r} is not computed in every iteration")
        alive: Condition = (Edge(cond, 0), True)
        before: list[Node] = []
        body: list[Node] = []
        for node in frame.nodes:
            guard = self._guards.of[node]
            if (Edge(cond, 0), False) in guard and node.op.name not in EXITS:
                raise Unstructured(f"{node.name} runs when the loop {frame.name!r} ends")
            (body if alive in guard else before).append(node)
        region = _Region(frame, self._guards, self._position)
        tests = [child for child in frame.children if alive not in child.guard]
        works = [child for child in frame.children if alive in child.guard]
        return Loop(frame, region.statements(before, tests), region.statements(body, works, frozenset({alive})))


def _shared(a: tuple[Condition, ...], b: tuple[Condition, ...]) -> int:
    count = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        count += 1
    return count
