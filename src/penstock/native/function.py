"""A C function in the making: its statements, the memory that its values take, and what it takes from outside.

In its text NAME stands for the name that the function gets in the end (`source.py`). All names that belong to the
whole begin with it, those of values among them, and what statements declare has other ones (`emit.local`): so nothing
means something else where it is written than where it is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from penstock.compiled.expressions import literal
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.native import holders
from penstock.native.emit import Value, numbered
from penstock.native.memory import Buffer, assign_offsets
from penstock.native.nodes import c_type, shape_of, variable_type
from penstock.runtime.hazards import is_state

PART = 64
"""Statements in one C function: compilers take more than proportional time over long ones."""
INLINE = 64
"""Elements of a constant that become text; larger ones are read where they are."""
LONG = 200_000
"""Additions and multiplications, about 10 µs, from which other threads may have Python meanwhile."""
_HEADER = 64
"""Bytes before the structs of stacks and arrays: what Python needs to go on."""
_STRUCT = 64
_POINTER = re.compile(r"NAME_[bhcvx]\d+")
"""What each function that uses it declares: where a value, a stack or an array is."""


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


@dataclass(slots=True)
class CFunction:
    """`depth`: of the blocks around the next statement. `time`: the number of statements so far, which tells when a
    buffer is used."""

    tables: list[str] = field(default_factory=list)
    """Declarations at file scope."""
    depth: int = 0
    time: int = 0
    _names: dict[str, str] = field(default_factory=dict)
    _buffers: dict[str, Buffer] = field(default_factory=dict)
    _parts: list[list[str]] = field(default_factory=lambda: [[]])
    _constants: list[np.ndarray] = field(default_factory=list)
    _variables: dict[Node, int] = field(default_factory=dict)
    _structs: dict[tuple[Node, bytes | None], int] = field(default_factory=dict)

    def emit(self, text: str) -> None:
        """Add a statement. A function that has become long ends before it, where no block is open."""
        if not self.depth and len(self._parts[-1]) >= PART and not text.startswith("}"):
            self._parts.append([])
        self._parts[-1].append(numbered(text, self._names))
        self.time += 1

    # --- values ---------------------------------------------------------------------------------------

    def constant(self, array: np.ndarray) -> Value:
        """A constant, as text or read where it is."""
        ctype = _ctype(array)
        if array.size <= INLINE:
            pointer = f"NAME_t{len(self.tables)}"
            texts = ", ".join(literal(value, ctype) for value in array.reshape(-1))
            self.tables.append(f"static const {ctype} {pointer}[] = {{{texts}}};")
        else:
            pointer = f"NAME_c{len(self._constants)}"
            self._constants.append(np.ascontiguousarray(array))
        return Value(pointer, ctype, tuple(array.shape))

    def variable(self, node: Node) -> Value:
        """The buffer of a variable."""
        number = self._variables.setdefault(node, len(self._variables))
        return Value(f"NAME_v{number}", variable_type(node), tuple(node.attrs["shape"].as_list()))

    def struct(self, holder: holders.Holder) -> str:
        """The address of a stack or an array."""
        number = self._structs.setdefault((holder.maker, holder.source), len(self._structs))
        return f"NAME_h{number}"

    def new(self, like: Value) -> Value:
        """New memory for a value of the type and shape of another."""
        name = f"NAME_b{len(self._buffers)}"
        self._buffers[name] = Buffer(name, like.ctype, like.size * _itemsize(like.ctype), self.time, self.time)
        return Value(name, like.ctype, like.shape)

    def use(self, value: Value) -> Value:
        """`value`, which the next statement uses: until then nothing takes its memory."""
        if value.pointer in self._buffers:
            self._buffers[value.pointer].last = self.time
        return value

    def keep_since(self, start: int) -> None:
        """What a loop that began at the time `start` reads from outside must not be written over before it ends."""
        for buffer in self._buffers.values():
            if buffer.first < start <= buffer.last:
                buffer.last = self.time

    def copy(self, to: Value, value: Value) -> None:
        assert (to.ctype, to.size) == (value.ctype, value.size), "a copy of another size"
        self.use(to)
        self.use(value)
        self.emit(f"memcpy({to.pointer}, {value.pointer}, {value.size} * sizeof({value.ctype}));")

    # --- text -----------------------------------------------------------------------------------------

    def written(self, body: StepGraph, loops: bool) -> Written:
        """The whole, for `body`. loops: whether it goes round in loops."""
        cleared = _HEADER + _STRUCT * len(self._structs)
        memory = assign_offsets(self._buffers.values(), cleared)
        offsets = [_HEADER + _STRUCT * i for i in range(len(self._structs))]
        edges = [*(Edge(feed, 0) for feed in body.feeds), *body.fetches]
        pointers = {b.name: (f"{b.ctype} *", f"(NAME_arena + {b.offset})") for b in self._buffers.values()}
        for i, offset in enumerate(offsets):
            pointers[f"NAME_h{i}"] = "struct holder *", f"(NAME_arena + {offset})"
        for i, constant in enumerate(self._constants):
            pointers[f"NAME_c{i}"] = f"const {_ctype(constant)} *", f"NAME_table[{i}]"
        for node, i in self._variables.items():
            pointers[f"NAME_v{i}"] = f"{variable_type(node)} *", f"NAME_table[{len(self._constants) + i}]"
        for i, edge in enumerate(edges):
            pointers[f"NAME_x{i}"] = f"{c_type(edge)} *", f"NAME_given[{i}]"
        parameters = "char *const NAME_arena, void *const *const NAME_table, void *const *const NAME_given"
        lines = ["static const f32 NAME_flow[1] = {0};", *self.tables]
        for i, part in enumerate(self._parts):
            lines.append(f"APART int NAME_{i}({parameters}) {{")
            for name in dict.fromkeys(name for text in part for name in _POINTER.findall(text)):
                kind, place = pointers[name]
                lines.append(f"{kind}const {name} = ({kind}){place};")
            lines += [*part, "return 0;", "}"]
        lines += [f"static int NAME_run({parameters}) {{", "int NAME_found = 0;"]
        for i in range(len(self._parts)):
            lines.append(f"if (!NAME_found) NAME_found = NAME_{i}(NAME_arena, NAME_table, NAME_given);")
        lines += ["return NAME_found;", "}"]
        text = "\n".join(lines) + "\n"
        sizes = [math.prod(shape_of(edge)) * _itemsize(c_type(edge)) for edge in edges]
        long = loops or work(body.nodes) > LONG
        return Written(text, self._constants, list(self._variables), memory, cleared, offsets, sizes, long)


def work(nodes: Iterable[Node]) -> float:
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


_NUMPY = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "u8": np.bool_}


def _itemsize(ctype: str) -> int:
    return np.dtype(_NUMPY[ctype]).itemsize


def _ctype(array: np.ndarray) -> str:
    return next(ctype for ctype, dtype in _NUMPY.items() if array.dtype == dtype)
