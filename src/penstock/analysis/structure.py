"""Structured control flow, recovered from the primitives: loops become `while`, conditionals become `if`.

Nodes of one frame (`frames.py`) are put in an order that keeps those of one guard (`guards.py`) together, and blocks
open and close as the guard changes. What does not fit the pattern (such as a Merge of anything but the two sides of one
predicate) is `Unstructured` and left to the dataflow executor.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.analysis.frames import NO_GUARD, Condition, Frame, Guard, find_frames, is_back_edge, is_loop_merge
from penstock.analysis.guards import Guards, Unstructured
from penstock.analysis.waits import phases
from penstock.graph.primitives import ENTERS, EXITS
from penstock.graph.step_graph import Edge, Node, StepGraph


@dataclass(eq=False, slots=True)
class MergeSide:
    """The Merge `node` takes the value of its `index`-th input: an assignment at the end of a branch."""

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


def structured(graph: StepGraph) -> tuple[list[Statement], Guards]:
    """The step as nested statements, and the guards of its values. Raises `Unstructured` if it has no such form."""
    root, frames = find_frames(graph)
    guards = Guards(graph, frames)
    late = phases(graph, frames)
    position = {node: (late.get(node, 0), i) for i, node in enumerate(graph.nodes)}
    return _Region(root, guards, position).statements(root.nodes, root.children), guards


def execution_order(statements: list[Statement]) -> Iterator[tuple[Node, bool]]:
    """The nodes in execution order, and whether each is in a loop. A Merge may appear once for each side."""
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
                yield from ((node, True) for node in frame.merges)  # the inputs of a loop stay alive to its end
                yield from _execution_order(statement.before, True)
                yield from _execution_order(statement.body, True)
                yield from ((node, in_loop) for node in frame.exits)


Item = Node | MergeSide | Frame
Place = tuple[int, int]
"""Where a node comes where it may: its phase (see waits.py), of which the earlier run first whatever their path, and
its position in the graph."""


class _Region:
    """One frame while it is converted to statements."""

    def __init__(self, frame: Frame, guards: Guards, position: dict[Node, Place]) -> None:
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
        """The conditions in the order in which they become known."""
        return tuple(sorted(guard, key=lambda c: (*self._position[c[0].node], c[0].port, c[1])))

    def _ordered(self, items: list[Item], paths: dict[Item, tuple[Condition, ...]]) -> list[Item]:
        """An order that respects all edges and changes the path rarely (by greedy choice)."""
        waiting, consumers = self._dependencies(items)
        ready: dict[tuple[Condition, ...], list[tuple[Place, int]]] = {}
        numbered = {item: (self._order_key(item), i) for i, item in enumerate(items)}
        by_index = dict(enumerate(items))
        for item in items:
            if not waiting[item]:
                heapq.heappush(ready.setdefault(paths[item], []), numbered[item])
        current: tuple[Condition, ...] = ()
        done: list[Item] = []
        while ready:
            phase = min(heap[0][0][0] for heap in ready.values())
            open_ = [path for path, heap in ready.items() if heap[0][0][0] == phase]
            path = current if current in open_ else min(open_, key=lambda p: (-_shared(p, current), ready[p][0]))
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

    def _order_key(self, item: Item) -> Place:
        if isinstance(item, Frame):
            return min(self._position[node] for node in item.enters)
        if isinstance(item, Node) and item.is_constant and not item.controls:
            return 0, -1  # a loop may read it without an Enter
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
        assert cond is not None  # Guards are strict
        alive: Condition = (Edge(cond, 0), True)
        before: list[Node] = []
        body: list[Node] = []
        for node in frame.nodes:
            (body if alive in self._guards.of[node] else before).append(node)
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
