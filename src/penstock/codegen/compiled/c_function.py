"""A C function in the making: its statements, and the memory that its values take.

In its text NAME stands for the name that the function gets in the end (`c/source.py`). All names that belong to the
whole begin with it, those of values among them, and what statements declare has other ones (`site.local`): so nothing
means something else where it is written than where it is read.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

from penstock.codegen.compiled.buffers import Buffer, assign_offsets
from penstock.codegen.compiled.outline import MOST_TEXT, Outline, Statement, is_whole, outlined
from penstock.emit.site import Value, numbered, uses
from penstock.emit.tools import BYTES

_BREATH, _PAUSE = 32, 1e-4
"""Statements after which whoever writes a function, in the background mostly, lets steps have Python for some seconds:
they would wait for it fifty times as long."""
_NAME = re.compile(r"NAME_\w+")


@dataclass(slots=True)
class CFunction:
    """`parameters`: what it takes, declared. One is NAME_arena, the address of its memory.

    `depth`: of the blocks around the next statement. `time`: the number of statements so far, which tells when a
    buffer is used.
    """

    parameters: tuple[str, ...]
    tables: list[str] = field(default_factory=list)
    """Declarations at file scope."""
    depth: int = 0
    time: int = 0
    types: dict[str, str] = field(default_factory=dict)
    """Of the names in statements, as C says it."""
    places: dict[str, str] = field(default_factory=dict)
    """What pointers among them are, in terms of the parameters."""
    _names: dict[str, str] = field(default_factory=dict)
    _buffers: dict[str, Buffer] = field(default_factory=dict)
    _outline: Outline = field(init=False)
    _blocks: list[list[Statement]] = field(default_factory=list)
    """Statements, each with those in the block that it opens."""

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

    def pointer(self, name: str, ctype: str, place: str) -> str:
        """The name of a pointer, which is `place` in terms of the parameters."""
        self.types[name], self.places[name] = f"{ctype} *", place
        return name

    def new(self, like: Value) -> Value:
        """New memory for a value of the type and shape of another."""
        name = f"NAME_b{len(self._buffers)}"
        self._buffers[name] = Buffer(name, like.size * BYTES[like.ctype], self.time, self.time)
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

    def plan(self, start: int = 0) -> int:
        """Settle where in its memory the buffers are, from `start` on; returns the bytes of the whole."""
        memory = assign_offsets(self._buffers.values(), start)
        self.places |= {b.name: f"(NAME_arena + {b.offset})" for b in self._buffers.values()}
        return memory

    def text(self) -> str:
        """The whole, of which the last function is NAME_run: it gives 0, or what a statement returned."""
        functions, blocks = outlined(self._blocks)
        parts = _parts(blocks)
        declared = ", ".join(self.parameters)
        passed = ", ".join(parameter.rpartition(" ")[2] for parameter in self.parameters)
        lines = [*self.tables, *functions]
        for i, part in enumerate(parts):
            lines.append(f"APART int NAME_{i}({declared}) {{")
            for name in dict.fromkeys(name for text in part for name in _NAME.findall(text)):
                if name in self.places:
                    lines.append(f"{self.types[name]}const {name} = ({self.types[name]}){self.places[name]};")
            lines += [*part, "return 0;", "}"]
        lines += [f"static int NAME_run({declared}) {{", "int NAME_found = 0;"]
        for i in range(len(parts)):
            lines.append(f"if (!NAME_found) NAME_found = NAME_{i}({passed});")
        return "\n".join([*lines, "return NAME_found;", "}", ""])


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
