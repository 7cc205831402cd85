"""The loops and conditionals of a graph that was imported, found in its nodes.

A message has nodes only, but they say everything: an Enter names the frame of its loop, a Merge that a NextIteration
leads to is a loop variable, and whatever comes after one side of a Switch is in a branch. So what was imported has
gradients like what was built here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from penstock.gradients.grad_contexts import GradientLoop
from penstock.graph.contexts import ControlFlowContext, outside
from penstock.graph.graph import Graph
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.primitives import ENTERS, EXITS, MERGES, NEXT_ITERATIONS, SWITCHES
from penstock.graph.scopes import name_scope
from penstock.ops.basic import identity
from penstock.ops.control_flow.cond import CondContext
from penstock.ops.control_flow.while_loop import WhileContext


def find_contexts(graph: Graph) -> None:
    """Give the imported nodes of `graph` the contexts that they would have if they had been built here.

    A loop that `tf.while_loop` could not have made gets none, so neither do the nodes in it.
    """
    with graph._lock:
        while graph._imported:
            _Contexts(graph, _Places(graph._imported.pop())).make()


@dataclass(eq=False)
class _Place:
    """A loop, or a branch: the one that `pred` being `side` leads to."""

    outer: _Place | None
    pred: Tensor | None = None
    side: int = 0
    ops: list[Operation] = field(default_factory=list)

    @property
    def is_loop(self) -> bool:
        return self.pred is None

    def around(self) -> list[_Place]:
        """This place and those that it is in, the outermost first."""
        found = [] if self.outer is None else self.outer.around()
        return [*found, self]


class _Places:
    """Where nodes are, None for outside all loops and branches. `ops`: inputs before consumers, except in loops."""

    def __init__(self, ops: list[Operation]) -> None:
        self.ops = ops
        self.of: dict[Operation, _Place | None] = {}
        self._loops: dict[tuple[_Place | None, bytes], _Place] = {}
        self._branches: dict[tuple[_Place | None, Tensor, int], _Place] = {}
        self._base: dict[Operation, _Place | None] = {}
        before: list[_Place | None] | None = None
        while before != [loop.outer for loop in self._loops.values()]:  # a later Enter may show that a loop is in more
            before = [loop.outer for loop in self._loops.values()]
            self.of.clear()
            for op in ops:
                self.of[op] = self._place(op)
        for op, place in self.of.items():
            if place is not None:
                place.ops.append(op)

    def _place(self, op: Operation) -> _Place | None:
        if op.type in MERGES:
            return self._place_of_merge(op)
        controls = [self.of.get(c) for c in op._control_inputs]
        if op.type == "ControlTrigger":  # it runs even if what it waits for does not
            return _common(controls)
        base = self._base[op] = _deepest([*map(self._after, op._inputs), *controls])
        if op.type in ENTERS:
            loop = self._loops.setdefault((_loop_around(base), op.attrs["frame_name"]), _Place(base))
            if base is not None and loop not in base.around():
                loop.outer = _deepest([loop.outer, base])
            return loop
        if op.type in EXITS:
            loop_left = _loop_around(base)
            return None if loop_left is None else loop_left.outer
        if op.type in SWITCHES and _decides(op).op.type != "LoopCond":
            used = [i for i, tensor in enumerate(op._outputs) if tensor._consumers]
            return self._branch(op, used[0]) if len(used) == 1 else base
        return base

    def _place_of_merge(self, op: Operation) -> _Place | None:
        sources = [t for t in op._inputs if t.op.type not in NEXT_ITERATIONS]
        places = [self._after(t) for t in sources]
        if len(sources) == len(op._inputs) and not (len(sources) == 1 and sources[0].op.type in ENTERS):
            places = [_common(places)]
        return _deepest([*places, *(self.of.get(c) for c in op._control_inputs)])

    def _after(self, tensor: Tensor) -> _Place | None:
        """Where the consumers of `tensor` are."""
        op = tensor.op
        if op.type in SWITCHES and op in self._base and _decides(op).op.type != "LoopCond":
            return self._branch(op, tensor.value_index)
        return self.of.get(op)

    def _branch(self, switch: Operation, side: int) -> _Place:
        base, pred = self._base[switch], _decides(switch)
        return self._branches.setdefault((base, pred, side), _Place(base, pred, side))


def _decides(switch: Operation) -> Tensor:
    """What decides, so that two names of a condition are one."""
    return _original(switch._inputs[1])


def _original(tensor: Tensor) -> Tensor:
    while tensor.op.type == "Identity":
        tensor = tensor.op._inputs[0]
    return tensor


def _deepest(places: Iterable[_Place | None]) -> _Place | None:
    return max((p for p in places if p is not None), key=lambda p: len(p.around()), default=None)


def _common(places: list[_Place | None]) -> _Place | None:
    """The innermost place that all `places` are in."""
    paths = [[] if place is None else place.around() for place in places]
    found = None
    for level in zip(*paths, strict=False):
        if len(set(level)) > 1:
            break
        found = level[0]
    return found


def _loop_around(place: _Place | None) -> _Place | None:
    while place is not None and not place.is_loop:
        place = place.outer
    return place


class _Contexts:
    """Makes the contexts of places, and nodes that gradients need where pruning has removed them."""

    def __init__(self, graph: Graph, places: _Places) -> None:
        self._graph = graph
        self._places = places
        self._root = places.ops[0]._control_flow_context if places.ops else None
        self._made: dict[_Place, ControlFlowContext | None] = {}

    def make(self) -> None:
        with self._graph.as_default(), name_scope(None):
            for place in dict.fromkeys(self._places.of.values()):
                if place is not None:
                    self._context(place)

    def _context(self, place: _Place) -> ControlFlowContext | None:
        if place not in self._made:
            outer = self._root if place.outer is None else self._context(place.outer)
            context: ControlFlowContext | None = None
            if place.outer is None or outer is not None:
                with outside(outer):
                    context = self._loop(place) if place.is_loop else self._branch(place)
            self._made[place] = context
        return self._made[place]

    # --- branches ---------------------------------------------------------------------------------------

    def _branch(self, place: _Place) -> ControlFlowContext:
        switches = [op for op in place.ops if op.type in SWITCHES]
        pred = switches[0]._inputs[1] if switches else place.pred
        assert pred is not None
        scope = pred.op.name.rpartition("/")[0]
        pivots = [op._outputs[0] for op in place.ops if op.type == "Identity" and _is_pivot(op)]
        if not pivots:
            with name_scope(f"{scope}/" if scope else None):
                pivots = [identity(get_op("Switch")(pred, pred)[place.side])]
        context = CondContext(scope, pred, pivots[0], place.side)
        for switch in switches:
            context._captured[switch._inputs[0]] = switch._outputs[place.side]
        return _claimed(context, place)

    # --- loops ------------------------------------------------------------------------------------------

    def _loop(self, place: _Place) -> ControlFlowContext | None:
        merges = [op._outputs[0] for op in place.ops if op.type in MERGES and _is_variable(op)]
        conditions = [op._outputs[0] for op in place.ops if op.type == "LoopCond"]
        enters = [op for op in place.ops if op.type in ENTERS]
        starts = [t for merge in merges for t in merge.op._inputs if t.op.type in ENTERS]
        ends = [t for merge in merges for t in merge.op._inputs if t.op.type in NEXT_ITERATIONS]
        if not merges or len(conditions) != 1 or not len(merges) == len(starts) == len(ends):
            return None
        pops = {_pushed(op): op._outputs[0] for op in self._places.ops if self._pops_in(place, op)}
        loop = self._gradient_loop(pops, starts[0]) or _plain_loop(starts[0])
        loop.enters, loop.merges, loop.next_iterations, loop.loop_cond = starts, merges, ends, conditions[0]
        started = {tensor.op for tensor in starts}
        loop.invariants = {op._outputs[0]: op._inputs[0] for op in enters if op not in started}
        loop._captured.update((before, inside) for inside, before in loop.invariants.items())
        _claimed(loop, place)
        with name_scope(f"{merges[0].op.name.rpartition('/')[0]}/" if "/" in merges[0].op.name else None):
            switches = [self._switch(loop, merge) for merge in merges]
            loop.exits = [self._exit(loop, switch) for switch in switches]
            loop.body_inputs = [_only_identity(switch._outputs[1]) for switch in switches]
            with loop.entered():
                anchor = loop.body_inputs[0]
                loop._pivot = identity(anchor).op if anchor.op in switches else anchor.op
        return loop

    def _pops_in(self, place: _Place, op: Operation) -> bool:
        return op.type.startswith("StackPop") and _loop_around(self._places.of[op]) is place

    def _gradient_loop(self, pops: dict[Tensor | None, Tensor], start: Tensor) -> GradientLoop | None:
        """The loop that takes what another one pushed in its iterations: it is the gradient of that one."""
        for pushed in pops:
            place = None if pushed is None else _loop_around(self._places.of.get(pushed.op))
            forward = None if place is None else self._context(place)
            if isinstance(forward, WhileContext):
                loop = GradientLoop(forward, _frame_of(start))
                loop.pops = {tensor: popped for tensor, popped in pops.items() if tensor is not None}
                forward.readers.append(loop)
                return loop
        return None

    def _switch(self, loop: WhileContext, merge: Tensor) -> Operation:
        for op in merge._consumers:
            if op.type in SWITCHES and op._inputs[1] is loop.loop_cond:
                return op
        with loop.entered():
            return get_op("Switch")(merge, loop.loop_cond)[0].op

    def _exit(self, loop: WhileContext, switch: Operation) -> Tensor:
        for op in switch._outputs[0]._consumers:
            if op.type in EXITS:
                return op._outputs[0]
        with outside(loop.outer):
            return get_op("RefExit" if switch._outputs[0].dtype._is_ref_dtype else "Exit")(switch._outputs[0])


def _plain_loop(start: Tensor) -> WhileContext:
    return WhileContext(start.op.attrs["parallel_iterations"], frame_name=_frame_of(start))


def _frame_of(start: Tensor) -> str:
    name: bytes = start.op.attrs["frame_name"]
    return name.decode()


def _pushed(pop: Operation) -> Tensor | None:
    """What is pushed on the stack that `pop` pops."""
    handle = pop._inputs[0]
    while handle.op._inputs and handle.op.op_def.traits.holds != "stack":
        handle = handle.op._inputs[0]
    pending = [handle]
    while pending:
        for user in pending.pop()._consumers:
            if user.type.startswith("StackPush"):
                return user._inputs[1]
            if user.op_def.traits.view == "same":  # the handle enters a loop or a branch
                pending += user._outputs
    return None


def _claimed(context: ControlFlowContext, place: _Place) -> ControlFlowContext:
    context.imported = True
    for op in place.ops:
        op._control_flow_context = context
    return context


def _is_pivot(op: Operation) -> bool:
    switch = op._inputs[0].op
    return switch.type in SWITCHES and _original(switch._inputs[0]) is _decides(switch)


def _is_variable(merge: Operation) -> bool:
    return any(tensor.op.type in NEXT_ITERATIONS for tensor in merge._inputs)


def _only_identity(tensor: Tensor) -> Tensor:
    """What the body takes a loop variable from: usually the Identity that `while_loop` makes."""
    users = tensor._consumers
    return users[0]._outputs[0] if len(users) == 1 and users[0].type == "Identity" else tensor
