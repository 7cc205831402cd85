"""What a compiler must get right before its code is loaded: loops that compilers have miscompiled.

They are like those in steps, compiled with the same flags, and run in a separate process: within one block of memory,
rows are moved, transposed and concatenated with different strides, reduced in lanes, looked up in tables and converted.
Each loop is repeated through volatile pointers, which compilers do not vectorise, and the results must be identical.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TIMEOUT = 20.0
"""Seconds that the process may take. It needs a fiftieth of a second, and more only on a busy machine."""

_BEGIN = r"""
#include <stdint.h>
#include <string.h>
typedef uint8_t u8; typedef int32_t i32; typedef int64_t i64; typedef float f32; typedef double f64;
#define APART static __attribute__((noinline))
#if defined(__clang__)
#define VECTOR _Pragma("clang loop vectorize(assume_safety)")
#else
#define VECTOR _Pragma("GCC ivdep")
#endif
#define ALIGNED __attribute__((aligned(64)))
enum { ROOM = 16384 };
static int later(void *arena) { static int calls; return ++calls % 3 != 0; }
static int (*volatile again)(void *) = later;
"""

# The first is a recurrent network of ten examples in an arena: GCC 12 uses aligned loads for unaligned addresses in its
# last loop, if it knows that the arena is aligned. Clang 14 miscompiles an element of the last one with AVX-512.
_MOVES = r"""
#define at(offset) ((@Q @T *)(arena + (offset) * sizeof(@T)))
APART void recurrent_@N(char *const arena, void *const *const x) {
  for (i64 i0 = 0; i0 < 5; i0++)
    for (i64 i1 = 0; i1 < 10; i1++) {
      @V for (i64 i2 = 0; i2 < 2; i2++) at(160)[i0 * 20 + i1 * 2 + i2] = at(48)[i0 * 2 + i1 * 10 + i2];
    }
  while (again(arena)) {
    for (i64 i0 = 0; i0 < 10; i0++) {
      @V for (i64 i1 = 0; i1 < 2; i1++) at(48)[i0 * 6 + i1] = at(112)[i0 * 2 + i1];
    }
    for (i64 i0 = 0; i0 < 10; i0++) {
      @V for (i64 i1 = 0; i1 < 4; i1++) at(48)[i0 * 6 + i1 + 2] = at(256)[i0 * 4 + i1];
    }
    again(arena);
    memcpy(arena + 256 * sizeof(@T), arena + 48 * sizeof(@T), 40 * sizeof(@T));
  }
  for (i64 i0 = 0; i0 < 10; i0++)
    for (i64 i1 = 0; i1 < 5; i1++) {
      @V for (i64 i2 = 0; i2 < 4; i2++) ((@Q @T *)x[1])[i0 * 20 + i1 * 4 + i2] = at(48)[i0 * 4 + i1 * 40 + i2];
    }
}
APART void moves_@N(char *const arena, @Q @T *const to) {
  for (i64 i0 = 0; i0 < 7; i0++)
    for (i64 i1 = 0; i1 < 9; i1++) {
      @V for (i64 i2 = 0; i2 < 3; i2++) to[200 + i0 * 27 + i1 * 3 + i2] = at(50)[i0 * 3 + i1 * 21 + (2 - i2)];
    }
  @T total = 0;
  for (int i = 200; i < 389; i++) total += to[i];
  to[399] = total;
}
APART void lanes_@N(char *const arena, @Q @T *const to) {
  static const @T table[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24};
  @T lanes[64] ALIGNED;
  for (int i = 0; i < 64; i++) lanes[i] = at(0)[(i * 5) % 64];
  for (int i0 = 0; i0 < 4; i0++)
    for (int i1 = 0; i1 < 16; i1++) to[400 + i0 * 16 + i1] = lanes[i1 * 4 + i0] + table[i0 * 4 + i1 / 2];
}
#undef at
"""

_END = r"""
#define RUN(T, name) { \
  T *const numbers = (T *)block; \
  for (i64 i = 0; i < ROOM / (i64)sizeof(T); i++) numbers[i] = (T)((i * 37 + 11) % 101); \
  char *volatile place = block; \
  char *const arena = place, *const to = place + ROOM / 2; \
  void *const x[] = {arena, to}; \
  recurrent_##name(arena, x); \
  moves_##name(arena, (T *)to); \
  lanes_##name(arena, (T *)to); }
#define TRY(T) RUN(T, T) memcpy(kept, block, ROOM); RUN(T, plain_##T) if (memcmp(kept, block, ROOM)) return 41;
int probe(void) {
  static char room[ROOM + 64], kept[ROOM];
  char *const block = room + (64 - (uintptr_t)room % 64);
  @TRIES
  return 42;
}
"""

_CHILD = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).probe())"
_TYPES = ("f32", "i64")
PASSED, WRONG = 42, 41


def probe_text() -> str:
    """C of `int probe(void)`, which returns PASSED if every check succeeds."""
    parts = [_BEGIN]
    for ctype in _TYPES:
        for name, qualifier, vector in ((ctype, "", "VECTOR"), (f"plain_{ctype}", "volatile", "")):
            moves = _MOVES.replace("@N", name).replace("@T", ctype)
            parts.append(moves.replace("@Q", qualifier).replace("@V", vector))
    return "".join(parts) + _END.replace("@TRIES", " ".join(f"TRY({ctype})" for ctype in _TYPES))


def run_probe(target: Path) -> str:
    """Run the probe in a shared object in another process. Gives what is wrong, nothing if all is right.

    TimeoutExpired if it does not end. Where there is no Python to start (it is part of another program), nothing
    is known to be wrong.
    """
    if not sys.executable:
        return ""
    command = [sys.executable, "-I", "-S", "-c", _CHILD, str(target)]
    code = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT).returncode
    if code == PASSED:
        return ""
    if code != WRONG and code >= 0:
        return "what it made is no object that can be loaded"
    return f"code that it made was killed by signal {-code}" if code < 0 else "code that it made computed wrong numbers"
