"""The C function of a region as Python calls it."""

from __future__ import annotations

from penstock.codegen.c.source import Source
from penstock.codegen.regions.function import Written
from penstock.codegen.regions.prelude import prelude
from penstock.emit.registry import support_text

ON_STACK = 1 << 16
"""Bytes that a function takes of its thread's stack; more come from malloc."""


def region_source(written: Written) -> Source:
    """A function that takes the address of the table of constants and variables, then those of inputs and outputs, or
    arrays of them.

    It gives False when it is done, True where a node could not compute what it was given, and raises what a signal's
    handler raised.
    """
    return Source.named_after_itself(written.text + _entry(written), support=prelude() + support_text())


def _entry(written: Written) -> str:
    """The entry. Its memory begins on a cache line, but the compiler is not told so: it cannot see through `place`.

    GCC 12 loads whole aligned vectors from places in an aligned block that are not aligned, where one pointer serves
    loops of different strides. Vector code that takes any address is as fast where the addresses are good.
    """
    small = written.memory <= ON_STACK
    room = f"char block[{written.memory} + 63];" if small else (
        f"char *const block = malloc({written.memory} + 63);\n"
        "if (!block) {\nfor (int i = 0; i < held; i++) PyBuffer_Release(&views[i]);\nreturn PyBool_FromLong(1);\n}"
    )  # fmt: skip
    arena = "char *volatile place = (char *)(((uintptr_t)block + 63) & ~(uintptr_t)63);\n  char *const arena = place;"
    clear = "".join(f"  holder_clear((struct holder *)(arena + {offset}));\n" for offset in written.growing_arrays)
    unlock, lock = ("*(void **)arena = PyEval_SaveThread();", "PyEval_RestoreThread(*(void **)arena);")
    return f"""
static void *NAME_call(void *self, void *const *given, i64 count) {{
  static const i64 sizes[] = {{{", ".join(map(str, [*written.sizes, 0]))}}};
  struct buffer views[{len(written.sizes) + 1}];
  void *x[{len(written.sizes) + 1}];
  const int held = find_addresses(x, given + 1, sizes, {len(written.sizes)}, views);
  if (held < 0) return PyBool_FromLong(1);
  {room}
  {arena}
  memset(arena, 0, {written.cleared});
  void *const *const table = (void *const *)(intptr_t)PyLong_AsLongLong(given[0]);
  {unlock if written.long else ""}
  const int found = NAME_run(arena, table, x);
{clear}  {lock if written.long else ""}
  {"" if small else "free(block);"}
  for (int i = 0; i < held; i++) PyBuffer_Release(&views[i]);
  if (found == 2) return 0;
  return PyBool_FromLong(found);
}}
struct method NAME = {{"NAME", NAME_call, METH_FASTCALL, 0}};
"""
