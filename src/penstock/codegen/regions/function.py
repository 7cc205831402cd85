"""A C function in the making: its statements, the memory that its values take, and what it takes from outside.

In its text NAME stands for the name that the function gets in the end (`source.py`). All names that belong to the
whole begin with it, those of values among them, and what statements declare has other ones (`site.local`): so nothing
means something else where it is written than where it is read.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from penstock.analysis.hazards import is_state
from penstock.codegen.regions import growing_arrays as growing_arrays
from penstock.codegen.regions.buffers import Buffer, assign_offsets
from penstock.codegen.regions.outline import MOST_TEXT, Outline, Statement, is_whole, outlined
from penstock.codegen.regions.writable import c_type, shape_of, variable_type
from penstock.emit.expressions import literal
from penstock.emit.site import Value, numbered, uses
from penstock.graph.step_graph import Edge, Node, StepGraph

INLINE = 64
"""Elements of a constant that become text; larger ones are read where they are."""
LONG = 200_000
"""Additions and multiplications, about 10 µs, from which other threads may have Python meanwhile."""
_BREATH, _PAUSE = 32, 1e-4
"""Statements after which whoever writes a function, in the background mostly, lets steps have Python for some seconds:
they would wait for it fifty times as long."""
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
    first `cleared` must be zero. `growing_arrays`: where in it stacks and arrays are. `long`: whether it may take long
    enough to let others have Python meanwhile.
    """

    text: str
    constants: list[np.ndarray]
    variables: list[Node]
    memory: int
    cleared: int
    growing_arrays: list[int]
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
    types: dict[str, str] = field(default_factory=dict)
    """Of the names in statements, as C says it."""
    _outline: Outline = field(init=False)
    _blocks: list[list[Statement]] = field(default_factory=list)
    """Statements, each with those in the block that it opens."""
    _constants: list[np.ndarray] = field(default_factory=list)
    _variables: dict[Node, int] = field(default_factory=dict)
    _structs: dict[tuple[Node, bytes | None], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._outline = Outline(self.types)

    @property
    def distinct(self) -> int:
        """Characters of all statements so far but those that say the same again, of other names."""
        return self._outline.distinct

    def emit(self, text: str) -> None:
        """Add a statement.

        What it declares is numbered anew in each, so that those that say the same are the same.
        """
        whole = is_whole(text)
        text = numbered(text, {} if whole and not uses(text, self._names) else self._names)
        statement = self._outline.add(text) if whole else Statement(text)
        if self.depth or text.startswith("}"):
            self._blocks[-1].append(statement)
        else:
            self._blocks.append([statement])
        self.time += 1
        if not self.time % _BREATH:
            time.sleep(_PAUSE)

    # --- values ---------------------------------------------------------------------------------------

    def constant(self, array: np.ndarray) -> Value:
        """A constant, as text or read where it is."""
        ctype = _ctype(array)
        if array.size <= INLINE:
            pointer = f"NAME_t{len(self.tables)}"
            texts = ", ".join(literal(value, ctype) for value in array.reshape(-1))
            self.tables.append(f"static const {ctype} {pointer}[] = {{{texts}}};")
            self.types[pointer] = f"const {ctype} *"
        else:
            pointer = f"NAME_c{len(self._constants)}"
            self.types[pointer] = f"const {ctype} *"
            self._constants.append(np.ascontiguousarray(array))
        return Value(pointer, ctype, tuple(array.shape))

    def variable(self, node: Node) -> Value:
        """The buffer of a variable."""
        number = self._variables.setdefault(node, len(self._variables))
        self.types[f"NAME_v{number}"] = f"{variable_type(node)} *"
        return Value(f"NAME_v{number}", variable_type(node), tuple(node.attrs["shape"].as_list()))

    def struct(self, holder: growing_arrays.Holder) -> str:
        """The address of a stack or an array."""
        number = self._structs.setdefault((holder.maker, holder.source), len(self._structs))
        self.types[f"NAME_h{number}"] = "struct holder *"
        return f"NAME_h{number}"

    def new(self, like: Value) -> Value:
        """New memory for a value of the type and shape of another."""
        name = f"NAME_b{len(self._buffers)}"
        self._buffers[name] = Buffer(name, like.ctype, like.size * _itemsize(like.ctype), self.time, self.time)
        self.types[name] = f"{like.ctype} *"
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
        places = {b.name: f"(NAME_arena + {b.offset})" for b in self._buffers.values()}
        places |= {f"NAME_h{i}": f"(NAME_arena + {offset})" for i, offset in enumerate(offsets)}
        places |= {f"NAME_c{i}": f"NAME_table[{i}]" for i in range(len(self._constants))}
        places |= {f"NAME_v{i}": f"NAME_table[{len(self._constants) + i}]" for i in self._variables.values()}
        places |= {f"NAME_x{i}": f"NAME_given[{i}]" for i in range(len(edges))}
        parameters = "char *const NAME_arena, void *const *const NAME_table, void *const *const NAME_given"
        functions, blocks = outlined(self._blocks)
        parts = _parts(blocks)
        lines = ["static const f32 NAME_flow[1] = {0};", *self.tables, *functions]
        for i, part in enumerate(parts):
            lines.append(f"APART int NAME_{i}({parameters}) {{")
            for name in dict.fromkeys(name for text in part for name in _POINTER.findall(text)):
                lines.append(f"{self.types[name]}const {name} = ({self.types[name]}){places[name]};")
            lines += [*part, "return 0;", "}"]
        lines += [f"static int NAME_run({parameters}) {{", "int NAME_found = 0;"]
        for i in range(len(parts)):
            lines.append(f"if (!NAME_found) NAME_found = NAME_{i}(NAME_arena, NAME_table, NAME_given);")
        lines += ["return NAME_found;", "}"]
        text = "\n".join(lines) + "\n"
        sizes = [math.prod(shape_of(edge)) * _itemsize(c_type(edge)) for edge in edges]
        long = loops or work(body.nodes) > LONG
        return Written(text, self._constants, list(self._variables), memory, cleared, offsets, sizes, long)


def _parts(blocks: list[list[str]]) -> list[list[str]]:
    """The statements of each function of a row of them."""
    parts: list[list[str]] = []
    size = MOST_TEXT
    for block in blocks:
        added = sum(map(len, block))
        if size + added > MOST_TEXT:
            parts.append([])
            size = 0
        parts[-1] += block
        size += added
    return parts


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
