"""C source of a program.

The C works in strips: a few hundred elements, of which all intermediate values stay in the first cache. Each strip
passes through a row of short loops, a few operations each: a loop over everything would wait for each operation's
result, and one loop an operation would store and load too much. The last strip, if it is not whole, is computed in
buffers whose length is a multiple of the widest vector, so that loops need no remainder.

In a range of strips all sizes are arguments, so one compiled object serves tensors of all sizes. Large tensors are
divided among the threads that torch uses: its OpenMP runtime is in the process already, and is called directly
(`GOMP_parallel`), which works with any compiler.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from penstock.codegen.c.source import Source
from penstock.codegen.clusters.program import EXPANDED, FULL, REPEATED, SCALAR, ClusterProgram

LOOP_WEIGHT = 10
"""A loop gets operations up to this weight."""
CHUNK = 64
"""Instructions of one C function: compilers take more than proportional time over long ones."""
_LINE = 16
"""Elements to which the last strip is rounded up."""


def c_source(program: ClusterProgram, pattern: str, reused: Collection[tuple[int, int]] = ()) -> Source:
    """The C function of `program` for inputs that fill the outputs' shape as `pattern` says (see `program.Fit`).

    `reused`: pairs of an input and an output that may be given the same memory.
    """
    return Source.named_after_itself(_ClusterWriter(program, pattern.replace(EXPANDED, FULL), dict(reused)).write())


@dataclass(slots=True)
class _ClusterWriter:
    program: ClusterProgram
    pattern: str
    reused: dict[int, int]
    loops: list[list[int]] = field(default_factory=list)
    slots: dict[int, int] = field(default_factory=dict)
    buffers: list[str] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    """Outputs that are kept in buffers until the end of the strip."""

    def write(self) -> str:
        self._divide()
        self._assign_buffers()
        chunks = self._chunks()
        body = [text for index, loops in enumerate(chunks) for text in self._chunk(index, loops)]
        return "\n".join([*body, *self._range(len(chunks)), *self._entry(), ""])

    # --- dividing the work ----------------------------------------------------------------------------

    def _divide(self) -> None:
        """Put the instructions, in their order, into loops."""
        weight = 0
        for index, instruction in enumerate(self.program.instructions):
            weight += instruction.expression.weight
            if not self.loops or weight > LOOP_WEIGHT:
                self.loops.append([])
                weight = instruction.expression.weight
            self.loops[-1].append(len(self.program.inputs) + index)

    def _operands(self, value: int) -> tuple[int | str, ...]:
        return self.program.instructions[value - len(self.program.inputs)].operands

    def _last_loops(self) -> dict[int, int]:
        """For each value the last loop that takes it from another loop."""
        made = {value: i for i, loop in enumerate(self.loops) for value in loop}
        last: dict[int, int] = {}
        for i, loop in enumerate(self.loops):
            for value in loop:
                for operand in self._operands(value):
                    if isinstance(operand, int) and made.get(operand) != i:
                        last[operand] = i
        return last

    def _assign_buffers(self) -> None:
        """A buffer in the strip for each value that goes from loop to loop, used again when the value is not.

        An output is written where it belongs; but one that takes the memory of an input which a later loop still
        reads is kept in a buffer until the end of the strip.
        """
        last = self._last_loops()
        kept = {output for given, output in self.reused.items() if last.get(given, -1) > self._loop_of(output)}
        self.late = [o for o in self.program.outputs if o in kept]
        direct = set(self.program.outputs) - kept
        free: dict[str, list[int]] = {}
        ends: dict[int, list[int]] = {}
        for i, loop in enumerate(self.loops):
            for value in loop:
                if value in direct or (value not in last and value not in kept):
                    continue
                ctype = self.program.ctype(value)
                if free.get(ctype):
                    self.slots[value] = free[ctype].pop()
                else:
                    self.slots[value] = len(self.buffers)
                    self.buffers.append(ctype)
                if value not in kept:
                    ends.setdefault(last[value], []).append(value)
            for value in ends.get(i, ()):
                free.setdefault(self.program.ctype(value), []).append(self.slots[value])

    def _loop_of(self, value: int) -> int:
        return next(i for i, loop in enumerate(self.loops) if value in loop)

    def _chunks(self) -> list[list[list[int]]]:
        chunks: list[list[list[int]]] = []
        size = CHUNK
        for loop in self.loops:
            if size + len(loop) > CHUNK:
                chunks.append([])
                size = 0
            chunks[-1].append(loop)
            size += len(loop)
        return chunks

    # --- text -----------------------------------------------------------------------------------------

    def _place(self, value: int) -> int:
        """Where in the table of pointers a value's elements of the strip are found."""
        inputs, outputs = len(self.program.inputs), len(self.program.outputs)
        if value < inputs:
            return value
        if value in self.slots:
            return inputs + outputs + self.slots[value]
        return inputs + self.program.outputs.index(value)

    def _is_stored(self, value: int) -> bool:
        return value in self.slots or value in self.program.outputs

    def _chunk(self, index: int, loops: list[list[int]]) -> list[str]:
        """A function for a few loops: `v` has the pointers, `w` elements are computed."""
        lines = [f"APART void NAME_{index}(void *const *v, int w) {{", f"  w &= ~{_LINE - 1};"]
        for loop in loops:
            lines += self._loop(loop)
        return [*lines, "}"]

    def _loop(self, loop: list[int]) -> list[str]:
        inside = set(loop)
        taken: dict[int, None] = {}
        for value in loop:
            taken.update((o, None) for o in self._operands(value) if isinstance(o, int) and o not in inside)
        lines = ["  {"]
        names: dict[int, str] = {}
        for value in taken:
            ctype, place = self.program.ctype(value), self._place(value)
            if value < len(self.pattern) and self.pattern[value] == SCALAR:
                names[value] = f"s{value}"
                lines.append(f"    const {ctype} s{value} = *(const {ctype} *)v[{place}];")
            else:
                names[value] = f"x{value}[i]"
                lines.append(f"    const {ctype} *const x{value} = v[{place}];")
        for value in loop:
            if self._is_stored(value):
                lines.append(f"    {self.program.ctype(value)} *const y{value} = v[{self._place(value)}];")
        lines += ["    VECTOR", "    for (int i = 0; i < w; i++) {"]
        lines += [f"      {definition(self.program, value, names)}" for value in loop]
        # An output may have the memory of an input, so nothing is stored before all is read.
        lines += [f"      y{value}[i] = t{value};" for value in loop if self._is_stored(value)]
        return [*lines, "    }", "  }"]

    def _range(self, chunks: int) -> list[str]:
        """The function that computes the elements from `begin` to `end`."""
        program = self.program
        strip = 256 if len(self.buffers) <= 64 else 64
        inputs, outputs = len(program.inputs), len(program.outputs)
        table = inputs + outputs + len(self.buffers)
        lines = ["APART void NAME_range(void *const *a, const i64 *layout, i64 begin, i64 end) {"]
        lines.append(f"  void *v[{table}];")
        for i in range(inputs):
            if self.pattern[i] == SCALAR:
                lines.append(f"  v[{i}] = a[{i}];")
            else:
                lines.append(f"  {program.inputs[i]} in{i}[{strip}] ALIGNED;")
        for i, output in enumerate(program.outputs):
            if output not in self.late:
                lines.append(f"  {program.ctype(output)} out{i}[{strip}] ALIGNED;")
        for i, ctype in enumerate(self.buffers):
            lines.append(f"  {ctype} b{i}[{strip}] ALIGNED;")
            lines.append(f"  v[{inputs + outputs + i}] = b{i};")
        lines.append(f"  for (i64 at = begin; at < end; at += {strip}) {{")
        lines.append(f"    const int m = end - at < {strip} ? (int)(end - at) : {strip};")
        lines.append(f"    const int w = (m + {_LINE - 1}) & ~{_LINE - 1};")
        repeated = 0
        for i, (ctype, way) in enumerate(zip(program.inputs, self.pattern, strict=True)):
            size = f"(i64)sizeof({ctype})"
            if way == REPEATED:
                numbers = f"layout[{2 * repeated}], layout[{2 * repeated + 1}]"
                lines.append(f"    v[{i}] = repeat_{ctype}(in{i}, a[{i}], at, m, {numbers});")
                lines.append(f"    memset(in{i} + m, 0, (w - m) * {size});")
                repeated += 1
            elif way == FULL:
                lines.append(f"    v[{i}] = ({ctype} *)a[{i}] + at;")
                lines.append(f"    if (m < {strip}) v[{i}] = tail(in{i}, v[{i}], m * {size}, w * {size});")
        for i, output in enumerate(program.outputs):
            if output not in self.late:
                place = f"({program.ctype(output)} *)a[{inputs + i}] + at"
                lines.append(f"    v[{inputs + i}] = m == {strip} ? {place} : out{i};")
        lines += [f"    NAME_{i}(v, w);" for i in range(chunks)]
        for i, output in enumerate(program.outputs):
            ctype = program.ctype(output)
            to, size = f"({ctype} *)a[{inputs + i}] + at", f"m * sizeof({ctype})"
            if output in self.late:
                lines.append(f"    memcpy({to}, v[{self._place(output)}], {size});")
            else:
                lines.append(f"    if (m < {strip}) memcpy({to}, out{i}, {size});")
        return [*lines, "  }", "}"]

    def _entry(self) -> list[str]:
        """The function that Python calls, and each thread's part of its work."""
        count = len(self.program.inputs) + len(self.program.outputs)
        return [
            "struct NAME_job { void *const *a; const i64 *layout; i64 size; };",
            "static void NAME_part(void *given) {",
            "  const struct NAME_job *const job = given;",
            "  const i64 lines = (job->size + 255) / 256, me = omp_get_thread_num(), all = omp_get_num_threads();",
            "  const i64 begin = lines * me / all * 256, end = lines * (me + 1) / all * 256;",
            "  NAME_range(job->a, job->layout, begin, end < job->size ? end : job->size);",
            "}",
            "static void *NAME_call(void *self, void *const *given, i64 count) {",
            f"  void *a[{count}];",
            f"  for (int i = 0; i < {count}; i++) a[i] = (void *)(intptr_t)PyLong_AsLongLong(given[i + 3]);",
            "  const i64 size = PyLong_AsLongLong(given[0]), threads = PyLong_AsLongLong(given[1]);",
            "  struct NAME_job job = {a, (const i64 *)(intptr_t)PyLong_AsLongLong(given[2]), size};",
            "  if (size < 2048) NAME_range(a, job.layout, 0, size);",
            "  else {",
            "    void *const state = PyEval_SaveThread();",
            "    if (threads > 1 && GOMP_parallel) GOMP_parallel(NAME_part, &job, (unsigned)threads, 0);",
            "    else NAME_range(a, job.layout, 0, size);",
            "    PyEval_RestoreThread(state);",
            "  }",
            "  Py_IncRef(&_Py_NoneStruct);",
            "  return &_Py_NoneStruct;",
            "}",
            'struct method NAME = {"NAME", NAME_call, METH_FASTCALL, 0};',
        ]


def definition(program: ClusterProgram, value: int, names: dict[int, str]) -> str:
    """`const T t5 = …;` for the value of an instruction; enters its name in `names`."""
    instruction = program.instructions[value - len(program.inputs)]
    ctype = instruction.expression.ctype
    operands = [o if isinstance(o, str) else names[o] for o in instruction.operands]
    names[value] = f"t{value}"
    return f"const {ctype} t{value} = {instruction.expression.text.format(*operands)};"
