"""The memory that the values of a step take at most: predicted from its plan, and measured while it runs.

Both count what is allocated for values from the step's start on. Feeds, constants and variables are there anyway; the
variables that a step touches are counted by themselves.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from penstock.analysis.hazards import Hazards, is_state
from penstock.analysis.in_place import InPlace
from penstock.analysis.sizes import Sizes
from penstock.graph.primitives import PRIMITIVES
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.graph.verify import BACK

# --- predicted ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StepMemory:
    """Bytes. `peak`: of the step's values at once, at most. `state`: of its variables.

    `exact`: all shapes are known and no loop goes round; else both are the least that it may be.
    """

    peak: int
    state: int
    exact: bool

    def __str__(self) -> str:
        least = "" if self.exact else "at least "
        return f"values take {least}{in_units(self.peak)} at once, variables {in_units(self.state)}"


def in_units(number: int) -> str:
    """Bytes in words: "1.25 MB"."""
    power = min(3, max(0, int(math.log10(number)) // 3)) if number else 0
    return f"{number / 1000**power:.3g} {('bytes', 'kB', 'MB', 'GB')[power]}"


def predict_memory(
    graph: StepGraph, order: Iterable[Node], hazards: Hazards, in_place: Mapping[Node, InPlace]
) -> StepMemory:
    """What a step takes whose nodes run in `order`, each value being freed after its last use.

    What kernels take for themselves is left out, and so is what stacks hold. A node that stands for others is taken as
    compiled: until then their values come on top. An unknown dimension counts as one.
    """
    return _Prediction(graph, list(order), hazards, in_place).result()


class _Prediction:
    """`_shown`: for each value, the allocations of the step whose memory it shows: of values, by their edges."""

    def __init__(self, graph: StepGraph, order: list[Node], hazards: Hazards, in_place: Mapping[Node, InPlace]) -> None:
        self._graph, self._order = graph, order
        self._hazards, self._in_place = hazards, in_place
        self._sizes = Sizes(unknown_dim=1)
        self._shown: dict[Edge, frozenset[Edge]] = {}
        self._last_use: dict[Edge, int] = {}
        self._made: list[list[Edge]] = []
        for node in order:
            self._made.append(self._allocate(node))
        for i, node in enumerate(order):
            for edge in (*node.inputs, *(Edge(node, port) for port in range(len(node.dtypes)))):
                self._last_use |= dict.fromkeys(self._shown.get(edge, ()), i)
        for edge in graph.fetches:
            self._last_use |= dict.fromkeys(self._shown.get(edge, ()), len(order))

    def result(self) -> StepMemory:
        state = sum(map(self._sizes.state_bytes, self._graph.nodes))
        known = all(shape.is_fully_defined() for node in self._graph.nodes for shape in node.shapes)
        loops = any(node.op.name in BACK for node in self._graph.nodes)
        return StepMemory(int(self._peak()), int(state), known and not loops)

    def _peak(self) -> float:
        frees: dict[int, float] = {}
        for made, last in self._last_use.items():
            frees[last] = frees.get(last, 0.0) + self._sizes.bytes(made)
        now = peak = 0.0
        for i, node in enumerate(self._order):
            now += sum(map(self._sizes.bytes, self._made[i])) - self._taken_over(i, node)
            peak = max(peak, now + self._briefly(node))
            now += self._taken_over(i, node) - frees.get(i, 0.0)
        pairs = zip(self._graph.fetches, self._hazards.fetches, strict=True)
        return max(peak, now + sum(self._sizes.bytes(edge) for edge, copied in pairs if copied))

    def _allocate(self, node: Node) -> list[Edge]:
        """The outputs that the node allocates; notes what each output shows."""
        values = [e for port in range(len(node.dtypes)) if not is_state(e := Edge(node, port))]
        if node.op is FEED or node.op.name == "Const":
            shown: frozenset[Edge] = frozenset()
        elif node in self._in_place and self._writes_over(node):
            shown = self._shown.get(node.inputs[self._in_place[node].index], frozenset())
        elif (node.op.aliases or node.op.name in PRIMITIVES) and not self._copied(node):
            shown = frozenset().union(*(self._shown.get(edge, ()) for edge in node.inputs))
        else:
            self._shown |= {edge: frozenset((edge,)) for edge in values}
            return values
        self._shown |= dict.fromkeys(values, shown)
        return []

    def _writes_over(self, node: Node) -> bool:
        """Whether the shapes are such that the node writes over an input."""
        found = self._in_place[node]
        if found.other is None:
            return True
        one, other = (node.inputs[i].node.shapes[node.inputs[i].port] for i in (found.index, found.other))
        return one.is_fully_defined() and one == other

    def _copied(self, node: Node) -> list[int]:
        """The inputs whose state is copied as it is read."""
        return [i for i in range(len(node.inputs)) if (node, i) in self._hazards.reads]

    def _briefly(self, node: Node) -> float:
        """The bytes that are taken only while the node runs: copies of what it is given."""
        if node.op.name == "_ProductSum":  # which lays its matrices one after another
            return sum(map(self._sizes.bytes, node.inputs))
        return 0.0 if node.op.aliases else sum(self._sizes.bytes(node.inputs[i]) for i in self._copied(node))

    def _taken_over(self, position: int, node: Node) -> float:
        """The bytes of inputs that end with a compiled cluster and whose memory it takes for its results."""
        if node.op.name != "_Cluster":
            return 0.0
        left = list(self._made[position])
        total = 0.0
        for edge in dict.fromkeys(node.inputs):
            ends = any(self._last_use[made] == position for made in self._shown[edge]) and len(self._shown[edge]) == 1
            alike = (e for e in left if (e.dtype, self._sizes.dims(e)) == (edge.dtype, self._sizes.dims(edge)))
            match = next(alike, None) if ends else None
            if match is not None:
                left.remove(match)
                total += self._sizes.bytes(edge)
        return total


# --- measured -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Use:
    """Bytes that a node allocated: in all, at once, and still `live`. `in_use`: of all values while it ran, at most."""

    total: int = 0
    peak: int = 0
    live: int = 0
    in_use: int = 0


class Allocations(TorchDispatchMode):
    """While it is entered, counts the tensors that kernels allocate in this thread, until nobody holds them.

    `uses` has an entry for each call of `begin`. It costs each call of torch some microseconds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.uses: list[Use] = [Use()]
        self._now = 0

    def begin(self) -> None:
        """A node begins."""
        self.uses.append(Use(in_use=self._now))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        given = _storages((args, kwargs))
        for pointer, storage in _storages(found).items():
            if pointer not in given:  # neither a view nor an argument that is written to
                self._add(storage)
        return found

    def _add(self, storage: Any) -> None:
        use, size = self.uses[-1], storage.nbytes()
        use.total += size
        use.live += size
        use.peak = max(use.peak, use.live)
        self._now += size
        use.in_use = max(use.in_use, self._now)
        weakref.finalize(storage, self._freed, use, size)

    def _freed(self, use: Use, size: int) -> None:
        use.live -= size
        self._now -= size


def _storages(value: Any) -> dict[int, Any]:
    """The memory of all tensors in a nest of values, by its address."""
    storages = (leaf.untyped_storage() for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor))
    return {storage.data_ptr(): storage for storage in storages}
