"""A step in C: statements of nodes (`runtime/structure.py`) as one function.

What the generated Python function of a step does, with everything known beforehand settled: shapes, where values lie,
what is copied. Element-wise nodes become loops (`elementwise.py`), stacks and tensor arrays structs (`holders.py`),
other nodes what their emitters say (`emit.py`), loops and conditionals themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from penstock.compiled.expressions import express, literal
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.native import holders
from penstock.native.elementwise import Element, loop_text
from penstock.native.emit import Site, Value, emitter_of
from penstock.native.memory import Buffer, assign_offsets
from penstock.native.nodes import NOTHING, VARIABLES, VIEWS, c_type, is_element_wise, shape_of, variable_type
from penstock.ops.control_flow import NEXT_ITERATIONS
from penstock.runtime.hazards import Hazards, is_state, writes_state
from penstock.runtime.segment import MOVES
from penstock.runtime.structure import Branch, Loop, MergeSide, Statement
from penstock.tensor.dtypes import resource

LONGEST_LOOP = 48
"""Element-wise nodes in one loop, at most."""
PART = 64
"""Statements in one C function: compilers take more than proportional time over long ones."""
INLINE = 64
"""Elements of a constant that become text; larger ones are read where they are."""
LONG = 200_000
"""Additions and multiplications, about 10 µs, from which other threads may have Python meanwhile."""
PATIENCE = 100 * LONG
"""As much between two looks for Ctrl-C: a look may have to wait for other threads."""
MOST_ROUNDS = 1 << 14
"""Rounds of a loop between two looks, at most."""
_HEADER = 64
"""Bytes before the structs of stacks and arrays: what Python needs to go on."""
_STRUCT = 64


class Unwritable(Exception):
    """The nodes cannot be written as one function; the message says why."""


@dataclass(slots=True)
class Written:
    """C text of a step, in which NAME is still to be replaced, and what its function takes.

    It takes the addresses of `constants` and of the buffers of `variables`, in one table, and those of the inputs and
    outputs, of which each has so many bytes as `sizes` says. `memory`: bytes that it needs while it runs, of which the
    first `cleared` must be zero. `holders`: where in it stacks and arrays are. `long`: whether it may take long enough
    to let others have Python meanwhile.
    """

    text: str
    constants: list[np.ndarray]
    variables: list[Node]
    memory: int
    cleared: int
    holders: list[int]
    sizes: list[int]
    long: bool


def write_step(
    body: StepGraph, statements: list[Statement], hazards: Hazards, sums: Mapping[Node, Node] = MappingProxyType({})
) -> Written:
    """The C of `body`, whose nodes run as `statements` say. Unwritable where that cannot be.

    sums: nodes that add a product to a loop variable, by its Merge, which nothing else sees.
    """
    return _Writer(body, hazards, sums).write(statements)


@dataclass(slots=True)
class _Writer:
    body: StepGraph
    hazards: Hazards
    sums: Mapping[Node, Node]
    values: dict[Edge, Value] = field(default_factory=dict)
    literals: dict[Edge, str] = field(default_factory=dict)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    constants: list[np.ndarray] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    variables: dict[Node, int] = field(default_factory=dict)
    structs: dict[tuple[Node, bytes | None], int] = field(default_factory=dict)
    parts: list[list[str]] = field(default_factory=lambda: [[]])
    open: dict[Node, Element] = field(default_factory=dict)
    """The element-wise nodes that the next loop will compute, all of one shape."""
    direct: dict[Edge, str] = field(default_factory=dict)
    users: dict[Edge, list[Node]] = field(default_factory=dict)
    tested: set[Edge] = field(default_factory=set)
    """What decides between branches."""
    known: holders.Holders = field(init=False)
    time: int = 0
    depth: int = 0
    wrote: Node | None = None
    looping: bool = False

    def write(self, statements: list[Statement]) -> Written:
        self.known = holders.Holders(self.body.nodes)
        for node in self.body.nodes:
            for edge in node.inputs:
                self.users.setdefault(edge, []).append(node)
        self.tested = set(_tests(statements))
        for i, feed in enumerate(self.body.feeds):
            self.values[Edge(feed, 0)] = Value(f"NAME_x{i}", c_type(Edge(feed, 0)), shape_of(Edge(feed, 0)))
        for i, edge in enumerate(self.body.fetches):
            self.direct.setdefault(edge, f"NAME_x{len(self.body.feeds) + i}")
        self._block(statements)
        self._flush()
        for i, edge in enumerate(self.body.fetches):
            target, value = f"NAME_x{len(self.body.feeds) + i}", self._use(self.values[edge])
            if value.pointer != target:
                self._emit(f"memcpy({target}, {value.pointer}, {value.size} * sizeof({value.ctype}));")
        return self._written()

    # --- statements -----------------------------------------------------------------------------------

    def _block(self, statements: list[Statement]) -> None:
        for statement in statements:
            match statement:
                case Node():
                    self._node(statement)
                case MergeSide():
                    self._merge_side(statement)
                case Branch():
                    self._branch(statement)
                case Loop():
                    self._loop(statement)

    def _branch(self, branch: Branch) -> None:
        self._flush()
        test = f"*{self._value(branch.pred).pointer}"
        self._emit(f"if ({test if branch.side else f'!{test}'}) {{")
        self._inside(branch.body)
        self._emit("}")

    def _inside(self, statements: list[Statement]) -> None:
        self.depth += 1
        self._block(statements)
        self._flush()
        self.depth -= 1

    def _merge_side(self, side: MergeSide) -> None:
        edge = Edge(side.node, 0)
        value = self._read(side.node, side.index)
        self._flush()
        if edge not in self.values:
            self.values[edge] = self._buffer(edge)
        self._copy(self.values[edge], value)
        which = Edge(side.node, 1)
        if which in self.users or which in self.direct:
            if which not in self.values:
                self.values[which] = self._buffer(which)
            self._emit(f"*{self.values[which].pointer} = {side.index};")

    def _loop(self, loop: Loop) -> None:
        self._flush()
        frame = loop.frame
        self.looping = True
        for enter in frame.enters:
            if enter.dtypes[0] != resource:
                self._name(Edge(enter, 0), self._read(enter, 0))
        variables: list[tuple[Node, Value]] = []
        for merge in frame.merges:
            entered = next(i for i, e in enumerate(merge.inputs) if e.node.op.name not in NEXT_ITERATIONS)
            value = self._read(merge, entered)
            self._flush()
            self.values[Edge(merge, 0)] = own = self._buffer(Edge(merge, 0))
            self._copy(own, value)
            variables.append((merge, own))
        assert frame.loop_cond is not None
        start = self.time
        self._emit("for (i64 round = 1;; round++) {")
        self.depth += 1
        self._inside(loop.before)
        self._emit(f"if (!*{self._value(frame.loop_cond.inputs[0]).pointer}) break;")
        rounds = max(1, min(MOST_ROUNDS, int(PATIENCE / max(_work(frame.nodes), 1))))
        self._emit(f"if (round % {rounds} == 0 && interrupted((void **)arena)) return 2;")
        self._inside(loop.body)
        self._go_round(variables)
        self.depth -= 1
        self._emit("}")
        for buffer in self.buffers.values():  # what the loop reads must not be written over before it ends
            if buffer.first < start <= buffer.last:
                buffer.last = self.time
        for node in frame.exits:
            if node.dtypes[0] != resource:
                self._name(Edge(node, 0), self._value(node.inputs[0]))

    def _go_round(self, variables: list[tuple[Node, Value]]) -> None:
        """All loop variables get their next values at once: one may be the other's."""
        own = {value.pointer for _, value in variables}
        copies: list[tuple[Value, Value]] = []
        for merge, target in variables:
            back = next(i for i, e in enumerate(merge.inputs) if e.node.op.name in NEXT_ITERATIONS)
            value = self._read(merge, back)
            if value.pointer == target.pointer:
                continue
            if value.pointer in own:
                aside = self._new(value.ctype, value)
                self._copy(aside, value)
                value = aside
            copies.append((target, value))
        for target, value in copies:
            self._copy(target, value)

    # --- nodes ----------------------------------------------------------------------------------------

    def _node(self, node: Node) -> None:
        name = node.op.name
        if node.op is FEED or name in NOTHING or name in VARIABLES:
            return
        if name == "Const":
            self._constant(node)
        elif name in MOVES:
            if node.dtypes[0] != resource:
                value = self._read(node, 0)
                for port in range(len(node.dtypes)):
                    self._name(Edge(node, port), value)
        elif name in holders.HOLDER_OPS:
            self._hold(node)
        elif name in VIEWS and not (self._is_open(node.inputs[0]) and is_element_wise(node)):
            if node.dtypes[0] != resource:
                self._name(Edge(node, 0), self._read(node, 0))
        elif is_element_wise(node):
            self._element(node)
        else:
            self._emitted(node)

    def _constant(self, node: Node) -> None:
        value, edge = node.attrs["value"], Edge(node, 0)
        ctype = c_type(edge)
        if not value.ndim:
            self.literals[edge] = literal(value, ctype)
        if value.size <= INLINE:
            texts = ", ".join(literal(v, ctype) for v in value.reshape(-1))
            pointer = f"NAME_t{len(self.tables)}"
            self.tables.append(f"static const {ctype} {pointer}[] = {{{texts}}};")
        else:
            pointer = f"NAME_c{len(self.constants)}"
            self.constants.append(np.ascontiguousarray(value))
        self.values[edge] = Value(pointer, ctype, tuple(value.shape))

    def _is_open(self, edge: Edge) -> bool:
        return edge.node in self.open

    def _element(self, node: Node) -> None:
        shape = shape_of(Edge(node, 0))
        if self.open:
            first = shape_of(Edge(next(iter(self.open)), 0))
            others = [e for e in node.inputs if self._is_open(e) and shape_of(e) != shape]
            if first != shape or others or len(self.open) >= LONGEST_LOOP:
                self._flush()
        operands: list[Value | str] = []
        for i, edge in enumerate(node.inputs):
            if self._is_open(edge):
                operands.append(self.open[edge.node].name)
            else:
                operands.append(self.literals.get(edge) or self._read(node, i))
        expression = express(node)
        assert expression is not None
        self.open[node] = Element(f"e{len(self.open)}", expression, tuple(operands), None)

    def _flush(self) -> None:
        """Write the loop of the element-wise nodes that were collected."""
        if not self.open:
            return
        members, self.open = self.open, {}
        elements = []
        for node, element in members.items():
            edge = Edge(node, 0)
            stored = None
            if (
                edge in self.direct
                or edge in self.tested
                or any(user not in members for user in self.users.get(edge, ()))
            ):
                stored = self.values[edge] = self._buffer(edge)
            elements.append(Element(element.name, element.expression, element.operands, stored))
            for operand in element.operands:
                if isinstance(operand, Value):
                    self._use(operand)
        self._emit(loop_text(shape_of(Edge(next(iter(members)), 0)), elements))

    def _emitted(self, node: Node) -> None:
        inputs = [self._read(node, i) for i in range(len(node.inputs))]
        self._flush()
        writes = [Edge(node, port) for port in range(len(node.dtypes))]
        if node in self.sums:
            outputs = [self.values[Edge(self.sums[node], 0)]]
        else:
            outputs = [self._buffer(edge) for edge in writes if not is_state(edge)]
        for edge, value in zip((e for e in writes if not is_state(e)), outputs, strict=True):
            self.values[edge] = value
        emitter = emitter_of(node.op.name)
        site = Site(node, inputs, outputs, f"NAME_n{self.time}")
        text = emitter(site) if emitter is not None else None
        if text is None:
            raise Unwritable(f"{node.name} = {node.op.name} has no C")
        if "FAIL()" in text and self.wrote is not None:
            raise Unwritable(f"{node.name} could fail after {self.wrote.name} has changed a variable")
        if any(map(is_state, node.inputs)) and writes_state(node):
            self.wrote = self.wrote or node
        self.tables += site.declarations
        for value in inputs:
            self._use(value)
        self._emit(text)

    def _hold(self, node: Node) -> None:
        inputs = [None if e.dtype == resource else self._read(node, i) for i, e in enumerate(node.inputs)]
        self._flush()
        handle = Edge(node, 0) if node.op.name in ("StackV2", "TensorArrayV3", "TensorArrayGradV3") else node.inputs[0]
        holder = self.known.find(handle)
        others = []
        if node.op.name == "TensorArrayGradV3":
            others = [self._struct(self.known.find(node.inputs[0]))]
        elif node.op.name == "TensorArrayV3":
            edges = [Edge(n, 0) for n in self.known.users[node] if n.op.name == "TensorArrayGradV3"]
            others = list(dict.fromkeys(self._struct(self.known.find(e)) for e in edges))
        outputs: list[Value] = []
        for port in range(len(node.dtypes)):
            edge = Edge(node, port)
            if edge.dtype == resource:
                continue
            if node.op.name in ("TensorArrayV3", "TensorArrayGradV3"):  # a flow, whose value means nothing
                self.values[edge] = Value("NAME_flow", "f32", ())
            elif node.op.name in ("StackPushV2", "TensorArrayWriteV3", "TensorArrayScatterV3"):
                passed = inputs[1 if node.op.name == "StackPushV2" else -1]
                assert passed is not None
                self._name(edge, passed)
            else:
                self.values[edge] = self._buffer(edge)
                outputs.append(self.values[edge])
        if self.wrote is not None:
            raise Unwritable(f"{node.name} could fail after {self.wrote.name} has changed a variable")
        for value in inputs:
            if value is not None:
                self._use(value)
        self._emit(holders.write(node, holder, self._struct(holder), others, inputs, outputs))

    def _struct(self, holder: holders.Holder) -> str:
        number = self.structs.setdefault((holder.maker, holder.source), len(self.structs))
        return f"NAME_h{number}"

    # --- values ---------------------------------------------------------------------------------------

    def _read(self, node: Node, index: int) -> Value:
        """The value of an input of `node`; of state its buffer, or a copy of it where it changes before it is used."""
        edge = node.inputs[index]
        if not is_state(edge):
            return self._value(edge)
        while edge.node.inputs and is_state(edge):
            edge = edge.node.inputs[0]
        number = self.variables.setdefault(edge.node, len(self.variables))
        ctype = variable_type(edge.node)
        value = Value(f"NAME_v{number}", ctype, tuple(edge.node.attrs["shape"].as_list()))
        if (node, index) not in self.hazards.reads:
            return value
        self._flush()
        copy = self._new(ctype, value)
        self._copy(copy, value)
        return copy

    def _value(self, edge: Edge) -> Value:
        if self._is_open(edge):
            self._flush()
        return self._use(self.values[edge])

    def _name(self, edge: Edge, value: Value) -> None:
        """`edge` shows the memory of `value`."""
        self.values[edge] = Value(value.pointer, value.ctype, shape_of(edge))

    def _use(self, value: Value) -> Value:
        if value.pointer in self.buffers:
            self.buffers[value.pointer].last = self.time
        return value

    def _copy(self, to: Value, value: Value) -> None:
        self._use(to)
        self._use(value)
        self._emit(f"memcpy({to.pointer}, {value.pointer}, {value.size} * sizeof({value.ctype}));")

    def _buffer(self, edge: Edge) -> Value:
        """New memory for a value: where the caller wants it, if it is fetched."""
        value = Value("", c_type(edge), shape_of(edge))
        if edge in self.direct and not self.depth:
            return Value(self.direct[edge], value.ctype, value.shape)
        return self._new(value.ctype, value)

    def _new(self, ctype: str, like: Value) -> Value:
        name = f"NAME_b{len(self.buffers)}"
        size = like.size * _itemsize(ctype)
        self.buffers[name] = Buffer(name, ctype, size, self.time, self.time)
        return Value(name, ctype, like.shape)

    # --- text -----------------------------------------------------------------------------------------

    def _emit(self, text: str) -> None:
        if not self.depth and len(self.parts[-1]) >= PART and not text.startswith("}"):
            self.parts.append([])
        self.parts[-1].append(text)
        self.time += 1

    def _written(self) -> Written:
        cleared = _HEADER + _STRUCT * len(self.structs)
        memory = assign_offsets(self.buffers.values(), cleared)
        lines = [f"#define {b.name} (({b.ctype} *)(arena + {b.offset}))" for b in self.buffers.values()]
        offsets = [_HEADER + _STRUCT * i for i in range(len(self.structs))]
        lines += [f"#define NAME_h{i} ((struct holder *)(arena + {offset}))" for i, offset in enumerate(offsets)]
        lines += [f"#define NAME_c{i} ((const {_ctype(c)} *)k[{i}])" for i, c in enumerate(self.constants)]
        for node, i in self.variables.items():
            ctype = variable_type(node)
            lines.append(f"#define NAME_v{i} (({ctype} *)k[{len(self.constants) + i}])")
        edges = [*(Edge(feed, 0) for feed in self.body.feeds), *self.body.fetches]
        lines += [f"#define NAME_x{i} (({c_type(edge)} *)x[{i}])" for i, edge in enumerate(edges)]
        lines.append("static const f32 NAME_flow[1] = {0};")
        lines += self.tables
        for i, part in enumerate(self.parts):
            lines.append(f"APART int NAME_{i}(char *const arena, void *const *const k, void *const *const x) {{")
            lines += [*part, "return 0;", "}"]
        lines.append("static int NAME_run(char *const arena, void *const *const k, void *const *const x) {")
        lines.append("int found = 0;")
        lines += [f"if (!found) found = NAME_{i}(arena, k, x);" for i in range(len(self.parts))]
        lines += ["return found;", "}"]
        text = "\n".join(lines) + "\n"
        sizes = [math.prod(shape_of(edge)) * _itemsize(c_type(edge)) for edge in edges]
        long = self.looping or _work(self.body.nodes) > LONG
        return Written(text, self.constants, list(self.variables), memory, cleared, offsets, sizes, long)


def _work(nodes: Iterable[Node]) -> float:
    """Additions and multiplications, about; of what has no number of them the elements that it makes."""
    total = 0.0
    for node in nodes:
        shapes = [e.node.shapes[e.port] for e in node.inputs]
        outputs = [shape_of(Edge(node, port)) for port in range(len(node.dtypes)) if not is_state(Edge(node, port))]
        if node.op.flops_fn is not None and all(shape.is_fully_defined() for shape in shapes):
            total += node.op.flops_fn(node, [tuple(shape.as_list()) for shape in shapes], outputs)
        else:
            total += sum(math.prod(shape) for shape in outputs)
    return total


def _tests(statements: list[Statement]) -> Iterator[Edge]:
    for statement in statements:
        match statement:
            case Branch():
                yield statement.pred
                yield from _tests(statement.body)
            case Loop():
                yield from _tests(statement.before)
                yield from _tests(statement.body)


_NUMPY = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "u8": np.bool_}


def _itemsize(ctype: str) -> int:
    return np.dtype(_NUMPY[ctype]).itemsize


def _ctype(array: np.ndarray) -> str:
    return next(ctype for ctype, dtype in _NUMPY.items() if array.dtype == dtype)
