"""Shapes of a step: the shape rules of the client's graph once more, now that the shapes of the feeds are known.

A placeholder of shape [None, 784] leaves most shapes of a program unknown; for the values of one step all are known.
What is known here is used when the plan is made: constants instead of Shape nodes, sizes of buffers, compiled code.

A rule sees a node of the step as an `Operation` (`_Twin`), so that rules need not know about steps. Loops are a fixed
point: a loop variable starts with the shape that enters the loop and loses the dimensions that an iteration
contradicts, until none does. The shapes of elements of stacks and TensorArrays are part of it: an element added in any
iteration may be read in any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from penstock.analysis.frames import is_loop_merge
from penstock.analysis.hazards import is_state
from penstock.analysis.kept_for_gradients import popped_values
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.primitives import ENTERS, EXITS, MERGES, NEXT_ITERATIONS, SWITCHES
from penstock.graph.rewrite import copy, rewritten
from penstock.graph.shape_context import UNKNOWN, output_shapes
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.tensor.shapes import TensorShape, same_sizes

_SAME_ELEMENTS = ENTERS | EXITS | MERGES | NEXT_ITERATIONS | SWITCHES | {"Identity", "TensorArrayGradV3"}
"""Ops that forward a handle, or return the handle of an array whose elements have the same shapes."""


def infer_shapes(graph: StepGraph, fed: Sequence[tuple[int, ...]] = ()) -> StepGraph:
    """The graph with the shapes that follow from those of the feeds; no shape becomes less specific.

    `fed`: the shapes of the values that will be fed, in the order of `graph.feeds`; without it, the feeds' shapes are
    those that the graph has. If a rule raises, or contradicts what is already known, the node keeps its shape: the
    kernel will raise the error in the step. Raises ValueError for a fed shape that a feed cannot have.
    """
    given = {node: _shaped(node, (node.shapes[0].merge_with(TensorShape(dims)),))
             for node, dims in zip(graph.feeds, fed, strict=bool(fed))}  # fmt: skip
    graph = rewritten(graph, given)
    opened = [node for node in graph.nodes if not is_settled(node)]
    found = _Inference(graph, opened).run() if opened else {}
    return rewritten(graph, {n: _shaped(n, shapes) for n, shapes in found.items() if not _same(shapes, n.shapes)})


def _shaped(node: Node, shapes: tuple[TensorShape, ...]) -> Node:
    made = copy(node)
    made.shapes = shapes
    return made


def is_settled(node: Node) -> bool:
    """Whether the shapes of all its outputs are known."""
    return all(shape.is_fully_defined() for shape in node.shapes)


class _Twin(Operation):
    """A node of a step as rules see nodes; of no graph, and without consumers."""

    __slots__ = ("_find_inputs",)

    def __init__(self, node: Node, find_inputs: Callable[[], list[Tensor]]) -> None:
        self.op_def, self.name, self.attrs = node.op, node.name, node.attrs
        self._outputs = [_TwinTensor(self, port, node) for port in range(len(node.dtypes))]
        self._find_inputs = find_inputs

    def __getattr__(self, name: str) -> Any:
        """The inputs, computed on first access: most nodes of large steps are never accessed. No graph."""
        if name == "graph":
            return None
        if name != "_inputs":
            raise AttributeError(name)
        self._inputs = self._find_inputs()
        return self._inputs


class _TwinTensor(Tensor):
    __slots__ = ()

    def __init__(self, op: _Twin, port: int, node: Node) -> None:
        self.op, self.value_index, self._dtype, self._shape = op, port, node.dtypes[port], node.shapes[port]


class ShapeRules:
    """The shape rules of ops, applied to nodes of a step: the nodes' twins hold the known shapes."""

    def __init__(self) -> None:
        self._twins: dict[Node, _Twin] = {}

    def agree(self, node: Node) -> bool:
        """Whether the rule of the node's op derives exactly the outputs' shapes from exactly the inputs' shapes.

        Shapes of a client's graph hold only if no node fails: a matrix of unknown height added to one of three rows is
        assumed to have three. Code that relies on such shapes and would not fail as the kernel does must check this
        first.
        """
        found = _by_rule(self._twin(node))
        return found is not None and all(map(_is_exactly, found, node.shapes))

    def _twin(self, node: Node) -> _Twin:
        found = self._twins.get(node)
        if found is None:
            found = self._twins[node] = _Twin(node, lambda: [self._tensor(edge) for edge in node.inputs])
        return found

    def _tensor(self, edge: Edge) -> Tensor:
        return self._twin(edge.node)._outputs[edge.port]


class _Inference(ShapeRules):
    def __init__(self, graph: StepGraph, opened: list[Node]) -> None:
        super().__init__()
        self._graph = graph
        self._popped = popped_values(graph)
        """What is pushed, for pops: its known elements (another loop's shapes, say) are theirs."""
        self._open = dict.fromkeys(opened)
        """The nodes whose shapes are not all known, in order. The others need no rule."""
        self._inferred: set[Node] = set()
        self._assumed: dict[Node, TensorShape | None] = {}
        """The shape that a node is assumed to get around a loop, or from a stack or an array."""
        self._elements: dict[Node, TensorShape] = {}
        """The shape of the elements of each stack and array seen so far, by the node that makes it."""
        self._lost = False
        """Whether something is written to an unknown stack or array."""
        self._waiting: set[Node] = set()
        """What depends on elements of which nothing has been seen yet: a loop variable would lose dimensions to it for
        good."""
        self._may_wait = True
        """False when all writes have been seen: nothing is put there, and zeros may be read."""

    def run(self) -> dict[Node, tuple[TensorShape, ...]]:
        """Infers the shapes of nodes with unknown shapes."""
        for node in self._graph.nodes:
            if node in self._open or node.op.puts_fn is not None or self._waits_for(node):
                self._infer(node)
        self._settle()
        if self._waiting:
            waiting, self._may_wait = self._waiting, False
            self._waiting = set()
            self._infer_again(waiting)
            self._settle()
        return {node: tuple([tensor._shape for tensor in self._twins[node]._outputs]) for node in self._open}

    def _settle(self) -> None:
        while changed := {
            n for n, assumed in self._assumed.items() if not same_sizes(self._from_elsewhere(n), assumed)
        }:
            self._infer_again(changed)

    def _infer_again(self, changed: set[Node]) -> None:
        """Infer again what depends on the nodes in `changed`, even past shapes that stay the same: values may no longer
        be known."""
        for node in self._graph.nodes:
            pushed = self._popped.get(node)
            after = node.inputs if pushed is None else (*node.inputs, pushed)
            if node in changed or any(edge.node in changed for edge in after):
                changed.add(node)
                self._infer(node)

    def _twin(self, node: Node) -> _Twin:
        """To rules, a pop is another name of what is pushed."""
        if node in self._popped and node not in self._twins:
            pushed = self._popped[node]
            alias = replace(node, op=get_op("Identity"), attrs={"T": pushed.dtype}, inputs=(pushed,))
            self._twins[node] = _Twin(alias, lambda: [self._tensor(pushed)])
        return super()._twin(node)

    def _infer(self, node: Node) -> None:
        looped = is_loop_merge(node)
        if not looped and self._waits_for(node):
            self._waiting.add(node)
            return
        self._waiting.discard(node)
        if node.op.puts_fn is not None:
            self._write(node)
        if node not in self._open:
            return
        twin, shapes = self._twin(node), node.shapes
        if looped or node.op.takes_fn is not None:
            assumed = self._assumed[node] = self._from_elsewhere(node)
            if assumed is None and self._may_wait:
                self._waiting.add(node)
                return
        self._inferred.add(node)
        if looped or node.op.takes_fn is not None:
            shapes = (_both(shapes[0], assumed or UNKNOWN), *shapes[1:])
        if not looped:
            shapes = tuple(map(_both, shapes, _by_rule(twin) or shapes))
        for tensor, shape in zip(twin._outputs, shapes, strict=True):
            tensor._shape = shape

    def _waits_for(self, node: Node) -> bool:
        return bool(self._waiting) and any(edge.node in self._waiting for edge in node.inputs)

    def _from_elsewhere(self, node: Node) -> TensorShape | None:
        """The common shape of all values seen so far of a loop variable or an element that is read; None: nothing yet.

        It never becomes more specific from one sweep to the next, so the sweeps terminate.
        """
        if node.op.name in MERGES:
            known = [e for e in node.inputs if e.node in self._inferred or e.node not in self._open]
            seen = [self._tensor(e)._shape for e in known if e.node not in self._waiting]
            return _common([self._assumed.get(node), *seen])
        handles = self._made_by(node.inputs[0])
        if self._lost or None in handles:
            return UNKNOWN
        elements = _common(self._elements.get(made) for made in handles if made is not None)
        takes = node.op.takes_fn
        return takes(elements, self._inputs(node)) if takes is not None and elements is not None else None

    def _write(self, node: Node) -> None:
        assert node.op.puts_fn is not None
        element = node.op.puts_fn(self._inputs(node))
        for made in self._made_by(node.inputs[0]):
            if made is None:
                self._lost = True
            else:
                self._elements[made] = _common([self._elements.get(made), element]) or UNKNOWN

    def _inputs(self, node: Node) -> list[TensorShape]:
        return [self._tensor(edge)._shape for edge in node.inputs]

    def _made_by(self, handle: Edge) -> set[Node | None]:
        """The nodes that may have made the stack or array of a handle; None among them means others as well."""
        found: set[Node | None] = set()
        seen: set[Node] = set()
        pending = [handle.node]
        while pending:
            node = pending.pop()
            if node in seen:
                continue
            seen.add(node)
            if node.op.name in _SAME_ELEMENTS:
                pending += [e.node for e in (node.inputs if node.op.name in MERGES else node.inputs[:1])]
            else:
                found.add(node if node.op.traits.holds and not any(map(is_state, node.inputs)) else None)
        return found


def _by_rule(twin: _Twin) -> list[TensorShape] | None:
    """What the shape rule says; None if it fails, because the kernel reports the error better."""
    try:
        return output_shapes(twin)
    except Exception:
        return None


def _same(found: tuple[TensorShape, ...], before: tuple[TensorShape, ...]) -> bool:
    return all(map(same_sizes, found, before))


def _is_exactly(found: TensorShape, shape: TensorShape) -> bool:
    return found.is_fully_defined() and found.tuple == shape.tuple


def _both(before: TensorShape, found: TensorShape) -> TensorShape:
    """What both say together; `before` if they contradict each other."""
    if before.tuple is None or before.tuple == found.tuple:
        return found
    try:
        return before.merge_with(found)
    except ValueError:
        return before


def _common(shapes: Iterable[TensorShape | None]) -> TensorShape | None:
    """What the known ones among the shapes agree on."""
    there: Iterator[TensorShape] = (shape for shape in shapes if shape is not None)
    first = next(there, None)
    return None if first is None else reduce(TensorShape.most_specific_compatible_shape, there, first)
